// Gives the command line the version of the library, of which it needs exactly that one; `npm version` runs this.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT } from '../platforms/commands.mjs'

const CLI = 'packages/cli'
const { version } = read('package.json')

edit(join(CLI, 'package.json'), setVersion)
edit('package-lock.json', ({ packages }) => setVersion(packages[CLI]))

function setVersion(manifest) {
  manifest.version = version
  manifest.dependencies['session-tape'] = version
}

function edit(name, change) {
  const content = read(name)
  change(content)
  writeFileSync(join(ROOT, name), `${JSON.stringify(content, null, 2)}\n`)
}

function read(name) {
  return JSON.parse(readFileSync(join(ROOT, name), 'utf8'))
}
