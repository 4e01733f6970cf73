// Writes LICENSE and THIRD-PARTY-NOTICES into the folders of npm/, or into python/ for the wheel: the licences of everything that is linked.
//
//   npm run notices -- [PLATFORM...]
//   npm run notices:wheel -- [TRIPLE]     for this machine, or for another target of Rust, which is installed
//
// Installs `cargo about`, and for the addons the tools of `npm run build:all`. Fails if a licence cannot be found.

import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT, output } from '../platforms/commands.mjs'
import { chosenTargets } from '../platforms/targets.mjs'
import { prepareToolchain, zigDirectory } from '../platforms/toolchain.mjs'
import { crateNotices } from './crates.mjs'
import { noticesText } from './notices-text.mjs'
import { rustLibraryNotices } from './rust-library.mjs'

/** What the linker adds, by the format of the addon. For macOS, LLVM's adds nothing to Rust's own code and the system's library. */
const ZIG = [
  ['compiler-rt, of zig', 'LICENSE'],
  ['libunwind, of LLVM', 'lib/libunwind/LICENSE.TXT'],
]
const ADDED = { ELF: ZIG, 'Mach-O': [], PE: [...ZIG, ['the runtime of mingw-w64', 'lib/libc/mingw/COPYING']] }
const MUSL = ['the start-up code of musl', 'lib/libc/musl/COPYRIGHT']

const [first, ...others] = process.argv.slice(2)
if (first === '--wheel') {
  const triple = others[0] ?? /^host: (.+)$/m.exec(output('rustc', ['-vV']))[1]
  const target = { triple, crate: 'session-tape-fleet' }
  const notices = [...crateNotices(target, 'python/Cargo.toml'), ...rustLibraryNotices(target)]
  write('python', 'session_tape/_native', notices)
} else {
  const targets = chosenTargets(process.argv.slice(2))
  prepareToolchain(targets)
  for (const target of targets) {
    const notices = [...crateNotices(target), ...rustLibraryNotices(target), ...linkerNotices(target)]
    write(`npm/${target.name}`, `session-tape.${target.name}.node`, notices)
  }
}

function linkerNotices({ name, expected }) {
  const added = [...ADDED[expected.format], ...(name.endsWith('-musl') ? [MUSL] : [])]
  return added.map(([title, path]) => ({ title, text: readFileSync(join(zigDirectory(), path), 'utf8').trim() }))
}

function write(folder, file, notices) {
  copyFileSync(join(ROOT, 'LICENSE'), join(ROOT, folder, 'LICENSE'))
  writeFileSync(join(ROOT, folder, 'THIRD-PARTY-NOTICES'), noticesText(file, notices))
  console.log(`${folder}/THIRD-PARTY-NOTICES: ${new Set(notices.map(({ title }) => title)).size} parts`)
}
