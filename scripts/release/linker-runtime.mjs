// The licences of code that the linker adds: zig's compiler runtime, LLVM's unwinder, and the start-up code of the C library.

import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { describeToolchain } from '../platforms/toolchain.mjs'

const RUNTIME = ['compiler-rt, of zig', 'LICENSE']
const UNWINDER = ['libunwind, of LLVM', 'lib/libunwind/LICENSE.TXT']

/** By the format of the addon. For macOS, LLVM's linker adds nothing to Rust's own code and the system's library. */
const ADDED = {
  ELF: [RUNTIME, UNWINDER],
  'Mach-O': [],
  PE: [RUNTIME, UNWINDER, ['the runtime of mingw-w64', 'lib/libc/mingw/COPYING']],
}
const MUSL = ['the start-up code of musl', 'lib/libc/musl/COPYRIGHT']

/** @returns {Promise<{ title: string, text: string }[]>} */
export async function linkerRuntimeNotices({ name, expected }) {
  const zig = dirname((await describeToolchain()).environment.CARGO_ZIGBUILD_ZIG_PATH)
  const added = name.endsWith('-musl') ? [...ADDED[expected.format], MUSL] : ADDED[expected.format]
  return added.map(([title, path]) => ({ title, text: readFileSync(join(zig, path), 'utf8').trim() }))
}
