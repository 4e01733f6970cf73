// Writes python/THIRD-PARTY-NOTICES: the licences of everything linked into the wheel. `maturin build` includes it in the wheel.
//
//   npm run notices:wheel                for this machine
//   npm run notices:wheel -- TRIPLE      for another target of Rust, which is installed
//
// Needs the crates, as after a build of the wheel, and installs `cargo about`. Fails if a licence cannot be found.

import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT, output } from '../platforms/commands.mjs'
import { crateNotices, findLicences } from './crate-notices.mjs'
import { NOTICES, noticesText } from './notices-file.mjs'
import { rustLibraryNotices } from './rust-library.mjs'

const triple = process.argv[2] ?? /^host: (.+)$/m.exec(await output('rustc', ['-vV']))[1]
const target = { triple, crate: 'session-tape-fleet' }
const crates = await crateNotices(target, await findLicences([target], 'python/Cargo.toml'))
const library = await rustLibraryNotices(target)
writeFileSync(join(ROOT, 'python', NOTICES), noticesText('session_tape/_native', [...crates, ...library]))
copyFileSync(join(ROOT, 'LICENSE'), join(ROOT, 'python', 'LICENSE'))
console.log(
  `python/${NOTICES}: ${new Set(crates.map(({ title }) => title)).size} of crates, ${library.length} of Rust's standard library`,
)
