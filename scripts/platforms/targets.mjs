// The eight platforms that the addon is built for, and what each addon may require of a machine.

const GLIBC = '2.17'
const MUSL = '1.1.20'
const MACOS = '11.0'
const WINDOWS = '10.0'

const linux = (name, architecture, libc) => ({
  name,
  triple: `${RUST[architecture]}-unknown-linux-${libc}`,
  // The oldest glibc that Rust itself supports. musl's symbols have no versions: the required musl follows from their names.
  zigTriple: `${RUST[architecture]}-unknown-linux-${libc}${libc === 'gnu' ? `.${GLIBC}` : ''}`,
  // A module that Node loads must use the machine's musl.
  rustFlags: libc === 'musl' ? ['-Ctarget-feature=-crt-static'] : [],
  expected: {
    format: 'ELF',
    architecture,
    minimum: libc === 'gnu' ? { system: 'glibc', version: GLIBC } : { system: 'musl', version: MUSL },
    libraries: libc === 'gnu' ? GLIBC_LIBRARIES[architecture] : ['libc.so'],
  },
})

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
})

/**
 * The package's name ends in `-msvc`, because the loaders of napi-rs look for that. It is built for the ABI of LLVM's MinGW: Node-API is C, so Node
 * does not notice the difference, and Microsoft's SDK, which may not be redistributed, is not needed.
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
})

const RUST = { x64: 'x86_64', arm64: 'aarch64' }

const COMMON_GLIBC_LIBRARIES = ['libc.so.6', 'libdl.so.2', 'libm.so.6', 'libpthread.so.0', 'librt.so.1']
const GLIBC_LIBRARIES = {
  x64: [...COMMON_GLIBC_LIBRARIES, 'ld-linux-x86-64.so.2'],
  arm64: [...COMMON_GLIBC_LIBRARIES, 'ld-linux-aarch64.so.1'],
}

/** Libraries of every Windows 10, including the universal C runtime, `api-ms-win-crt-*`. */
const WINDOWS_LIBRARIES = [
  'KERNEL32.dll',
  'USERENV.dll',
  'WS2_32.dll',
  'api-ms-win-core-synch-l1-2-0.dll',
  'api-ms-win-crt-*',
  'bcrypt.dll',
  'bcryptprimitives.dll',
  'ntdll.dll',
]

/** In the order of `napi.targets` in package.json. `name` is that of a folder in npm/. */
export const TARGETS = [
  linux('linux-x64-gnu', 'x64', 'gnu'),
  linux('linux-arm64-gnu', 'arm64', 'gnu'),
  linux('linux-x64-musl', 'x64', 'musl'),
  linux('linux-arm64-musl', 'arm64', 'musl'),
  macos('darwin-x64', 'x64'),
  macos('darwin-arm64', 'arm64'),
  windows('win32-x64-msvc', 'x64'),
  windows('win32-arm64-msvc', 'arm64'),
]

/** The only symbol that an addon may export: the function that Node calls to load it. */
export const ENTRY_POINT = 'napi_register_module_v1'

export const addonPath = ({ name }) => `npm/${name}/session-tape.${name}.node`

/** @returns {object[]} the targets with these names; all if there are no names */
export function chosenTargets(names) {
  const unknown = names.find((name) => !TARGETS.some((target) => target.name === name))
  if (unknown !== undefined)
    throw new Error(`there is no npm/${unknown}; it is one of ${TARGETS.map(({ name }) => name).join(', ')}`)
  return names.length === 0 ? TARGETS : TARGETS.filter(({ name }) => names.includes(name))
}
