// Copies the work tree, with the published addon of one platform next to package.json, where the library looks first.

import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

import { workDirectory } from './build.mjs'
import { ROOT, output } from './commands.mjs'
import { addonPath } from './targets.mjs'

/** @returns {Promise<string>} the path of the copy */
export async function copyWorkTree(target) {
  const tree = join(workDirectory(target), 'tree')
  rmSync(tree, { recursive: true, force: true })
  const files = (await output('git', ['ls-files', '--cached', '--others', '--exclude-standard'])).split('\n')
  for (const file of files.filter((name) => existsSync(join(ROOT, name)))) {
    mkdirSync(dirname(join(tree, file)), { recursive: true })
    cpSync(join(ROOT, file), join(tree, file))
  }
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  // The one in node_modules is this work tree's.
  mkdirSync(join(tree, 'packages', 'cli', 'node_modules'), { recursive: true })
  symlinkSync(tree, join(tree, 'packages', 'cli', 'node_modules', 'session-tape'))
  copyFileSync(join(ROOT, addonPath(target)), join(tree, basename(addonPath(target))))
  return tree
}
