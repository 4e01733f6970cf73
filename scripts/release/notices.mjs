// Writes LICENSE and THIRD-PARTY-NOTICES into the folders of npm/: the licences of everything linked into the addon of each platform.
//
//   npm run notices -- [PLATFORM...]
//
// Needs the tools of `npm run build:all`, and installs `cargo about`. Fails if a licence cannot be found.

import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT } from '../platforms/commands.mjs'
import { chosenTargets } from '../platforms/targets.mjs'
import { prepareToolchain } from '../platforms/toolchain.mjs'
import { crateNotices, findLicences } from './crate-notices.mjs'
import { linkerRuntimeNotices } from './linker-runtime.mjs'
import { NOTICES, noticesPath, noticesText } from './notices-file.mjs'
import { rustLibraryNotices } from './rust-library.mjs'

const targets = chosenTargets(process.argv.slice(2))
mkdirSync(join(ROOT, 'target', 'platforms'), { recursive: true })
await prepareToolchain(targets, join(ROOT, 'target', 'platforms', 'tools.log'))
const licences = await findLicences(targets)
for (const target of targets) {
  const crates = await crateNotices(target, licences)
  const others = [...(await rustLibraryNotices(target)), ...(await linkerRuntimeNotices(target))]
  copyFileSync(join(ROOT, 'LICENSE'), join(ROOT, 'npm', target.name, 'LICENSE'))
  writeFileSync(noticesPath(target), noticesText(`session-tape.${target.name}.node`, [...crates, ...others]))
  console.log(
    `npm/${target.name}/${NOTICES}: ${new Set(crates.map(({ title }) => title)).size} of crates, ${others.length} of what the compiler adds`,
  )
}
