// Checks that npm/ has everything that is to be published; `npm publish` begins with it. Needs Cargo, to know what is linked into each addon.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT } from '../platforms/commands.mjs'
import { TARGETS, addonPath } from '../platforms/targets.mjs'
import { linkedCrates } from './linked.mjs'
import { missingNotices } from './notices-file.mjs'

const problems = []
for (const target of TARGETS) {
  if (!existsSync(join(ROOT, addonPath(target)))) problems.push(`${addonPath(target)} is missing: npm run build:all`)
  if (!isSame(`npm/${target.name}/LICENSE`))
    problems.push(`npm/${target.name}/LICENSE is missing or another: npm run notices`)
  const missing = missingNotices(target, await linkedCrates(target))
  if (missing.length > 0)
    problems.push(`npm/${target.name}: without the licence of ${missing.join(', ')}: npm run notices`)
}
if (!isSame('packages/cli/LICENSE')) problems.push('packages/cli/LICENSE is missing or another')
problems.forEach((problem) => console.error(problem))
if (problems.length > 0) process.exitCode = 1

/** Whether a file is a copy of the licence. */
function isSame(name) {
  const path = join(ROOT, name)
  return existsSync(path) && readFileSync(path).equals(readFileSync(join(ROOT, 'LICENSE')))
}
