// Checks that npm/ has everything that is to be published; `npm publish` begins with it.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT } from '../platforms/commands.mjs'
import { TARGETS, addonPath } from '../platforms/targets.mjs'

const licence = readFileSync(join(ROOT, 'LICENSE'))
const expected = TARGETS.flatMap((target) => [addonPath(target), `npm/${target.name}/THIRD-PARTY-NOTICES`])
const licences = ['packages/cli/LICENSE', ...TARGETS.map(({ name }) => `npm/${name}/LICENSE`)]
const isThere = (name) => existsSync(join(ROOT, name))
const problems = [
  ...expected.filter((name) => !isThere(name)).map((name) => `${name} is missing`),
  ...licences
    .filter((name) => !isThere(name) || !readFileSync(join(ROOT, name)).equals(licence))
    .map((name) => `${name} is missing or another`),
]
if (problems.length > 0) {
  console.error(`${problems.join('\n')}\nnpm run build:all, npm run notices`)
  process.exitCode = 1
}
