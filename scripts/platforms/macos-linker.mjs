// The linker for macOS: the one of LLVM that comes with Rust. zig's own exports every symbol of a library; this one takes a list.

import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What Rust's standard library asks to be linked and never calls. The linker drops it. */
const ICONV = `--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '/usr/lib/libiconv.2.dylib'
...
`;

/** The names under which the system's one library is linked. */
const SYSTEM = ['libSystem', 'libc', 'libm'];

const sdk = (tools) => join(tools, 'MacOSX.sdk');
const linker = (tools) => join(tools, 'ld64');

/**
 * @param {string} tools where it goes
 * @param {string} zig the directory of zig, which has the names of what macOS's library exports
 * @param {string} rustLld
 */
export function prepareMacosLinker(tools, zig, rustLld) {
  const libraries = join(sdk(tools), 'usr', 'lib');
  mkdirSync(libraries, { recursive: true });
  for (const name of SYSTEM) copyFileSync(join(zig, 'lib', 'libc', 'darwin', 'libSystem.tbd'), join(libraries, `${name}.tbd`));
  writeFileSync(join(libraries, 'libiconv.tbd'), ICONV);
  writeFileSync(linker(tools), wrapper(rustLld), { mode: 0o755 });
}

/** `napi_build` passes a `-Wl` on its own, which a C compiler ignores and a linker does not. */
const wrapper = (rustLld) => `#!/bin/sh
for argument do
  shift
  [ "$argument" = -Wl ] || set -- "$@" "$argument"
done
exec '${rustLld}' "$@"
`;

export const macosEnvironment = (tools) => ({ SDKROOT: sdk(tools) });

/**
 * The linker takes the UUID from all that it writes, before `rustc` strips it: without `-S`, from paths and times of object files too. The last flag is
 * the name that the library has for others; by default it is its path on this machine.
 */
export const macosFlags = (tools, name) => [
  `-Clinker=${linker(tools)}`,
  '-Clinker-flavor=ld64.lld',
  '-Clink-arg=-dead_strip_dylibs',
  '-Clink-arg=-S',
  '-Clink-arg=-install_name',
  `-Clink-arg=@rpath/${name}`,
];
