// The linker for macOS: LLVM's, which comes with Rust. zig's own linker exports every symbol of a library; this one accepts a list.

import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A library that Rust's standard library links but never calls. The linker drops it. */
const ICONV = `--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '/usr/lib/libiconv.2.dylib'
...
`

/** The names under which macOS's single system library is linked. */
const SYSTEM = ['libSystem', 'libc', 'libm']

const sdk = (tools) => join(tools, 'MacOSX.sdk')
const linker = (tools) => join(tools, 'ld64')

/**
 * @param {string} tools the directory for the linker and its libraries
 * @param {string} zig the directory of zig, which has a list of the symbols that macOS's library exports
 * @param {string} rustLld
 */
export function prepareMacosLinker(tools, zig, rustLld) {
  const libraries = join(sdk(tools), 'usr', 'lib')
  mkdirSync(libraries, { recursive: true })
  for (const name of SYSTEM)
    copyFileSync(join(zig, 'lib', 'libc', 'darwin', 'libSystem.tbd'), join(libraries, `${name}.tbd`))
  writeFileSync(join(libraries, 'libiconv.tbd'), ICONV)
  writeFileSync(linker(tools), wrapper(rustLld), { mode: 0o755 })
}

/** Drops the lone `-Wl` of `napi_build`, which a C compiler ignores and a linker rejects. */
const wrapper = (rustLld) => `#!/bin/sh
for argument do
  shift
  [ "$argument" = -Wl ] || set -- "$@" "$argument"
done
exec '${rustLld}' "$@"
`

export const macosEnvironment = (tools) => ({ SDKROOT: sdk(tools) })

/**
 * The linker computes the UUID from all of its output, before `rustc` strips it: without `-S`, that includes paths and times of object files. The
 * last flag sets the install name of the library, which is its path on this machine by default.
 */
export const macosFlags = (tools, name) => [
  `-Clinker=${linker(tools)}`,
  '-Clinker-flavor=ld64.lld',
  '-Clink-arg=-dead_strip_dylibs',
  '-Clink-arg=-S',
  '-Clink-arg=-install_name',
  `-Clink-arg=@rpath/${name}`,
]
