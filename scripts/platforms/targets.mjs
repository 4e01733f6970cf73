// The eight platforms that the addon is built for, and what each may ask of a machine.

const GLIBC = '2.17';
const MUSL = '1.1.20';
const MACOS = '11.0';
const WINDOWS = '10.0';

const linux = (name, architecture, libc) => ({
  name,
  triple: `${RUST[architecture]}-unknown-linux-${libc}`,
  // The oldest glibc that Rust itself supports. musl's symbols have no versions: which it needs, their names say.
  zigTriple: `${RUST[architecture]}-unknown-linux-${libc}${libc === 'gnu' ? `.${GLIBC}` : ''}`,
  // A module that Node loads needs the machine's musl.
  rustFlags: libc === 'musl' ? ['-Ctarget-feature=-crt-static'] : [],
  expected: {
    format: 'ELF',
    architecture,
    minimum: libc === 'gnu' ? { system: 'glibc', version: GLIBC } : { system: 'musl', version: MUSL },
    libraries: libc === 'gnu' ? GLIBC_LIBRARIES[architecture] : ['libc.so'],
  },
});

const macos = (name, architecture) => ({
  name,
  triple: `${RUST[architecture]}-apple-darwin`,
  zigTriple: `${RUST[architecture]}-apple-darwin`,
  rustFlags: [],
  environment: { MACOSX_DEPLOYMENT_TARGET: MACOS },
  expected: {
    format: 'Mach-O',
    architecture,
    minimum: { system: 'macOS', version: MACOS },
    libraries: ['/usr/lib/libSystem.B.dylib'],
  },
});

/**
 * The package is called `-msvc`, because that is the name under which loaders of napi-rs look for it. It is built for the ABI of
 * LLVM's MinGW: Node-API is C, so Node does not see the difference, and no Microsoft SDK is needed, which may not be passed on.
 */
const windows = (name, architecture) => ({
  name,
  triple: `${RUST[architecture]}-pc-windows-gnullvm`,
  zigTriple: `${RUST[architecture]}-pc-windows-gnullvm`,
  rustFlags: [],
  expected: {
    format: 'PE',
    architecture,
    minimum: { system: 'Windows', version: WINDOWS },
    libraries: WINDOWS_LIBRARIES,
  },
});

const RUST = { x64: 'x86_64', arm64: 'aarch64' };

const COMMON_GLIBC_LIBRARIES = ['libc.so.6', 'libdl.so.2', 'libm.so.6', 'libpthread.so.0', 'librt.so.1'];
const GLIBC_LIBRARIES = {
  x64: [...COMMON_GLIBC_LIBRARIES, 'ld-linux-x86-64.so.2'],
  arm64: [...COMMON_GLIBC_LIBRARIES, 'ld-linux-aarch64.so.1'],
};

/** Part of every Windows 10. The universal C runtime, `api-ms-win-crt-*`, is too. */
const WINDOWS_LIBRARIES = [
  'KERNEL32.dll',
  'USERENV.dll',
  'WS2_32.dll',
  'api-ms-win-core-synch-l1-2-0.dll',
  'api-ms-win-crt-*',
  'bcrypt.dll',
  'bcryptprimitives.dll',
  'ntdll.dll',
];

/** In the order of `napi.targets` in package.json. `name` is that of the folder in npm/. */
export const TARGETS = [
  linux('linux-x64-gnu', 'x64', 'gnu'),
  linux('linux-arm64-gnu', 'arm64', 'gnu'),
  linux('linux-x64-musl', 'x64', 'musl'),
  linux('linux-arm64-musl', 'arm64', 'musl'),
  macos('darwin-x64', 'x64'),
  macos('darwin-arm64', 'arm64'),
  windows('win32-x64-msvc', 'x64'),
  windows('win32-arm64-msvc', 'arm64'),
];

/** All that an addon may export: what Node calls when it loads it. */
export const ENTRY_POINT = 'napi_register_module_v1';

export const addonPath = ({ name }) => `npm/${name}/session-tape.${name}.node`;

/** @returns {object[]} the targets with these names; without a name, all */
export function chosenTargets(names) {
  const unknown = names.find((name) => !TARGETS.some((target) => target.name === name));
  if (unknown !== undefined) throw new Error(`there is no npm/${unknown}; it is one of ${TARGETS.map(({ name }) => name).join(', ')}`);
  return names.length === 0 ? TARGETS : TARGETS.filter(({ name }) => names.includes(name));
}
