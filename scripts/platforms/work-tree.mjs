// A copy of the work tree with the addon of one platform in it, as it is published: beside package.json, where the library looks first.

import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { workDirectory } from './build.mjs';
import { ROOT, output } from './commands.mjs';
import { addonPath } from './targets.mjs';

/** @returns {Promise<string>} its path */
export async function copyWorkTree(target) {
  const tree = join(workDirectory(target), 'tree');
  rmSync(tree, { recursive: true, force: true });
  const files = (await output('git', ['ls-files', '--cached', '--others', '--exclude-standard'])).split('\n');
  for (const file of files.filter((name) => existsSync(join(ROOT, name)))) {
    mkdirSync(dirname(join(tree, file)), { recursive: true });
    cpSync(join(ROOT, file), join(tree, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  copyFileSync(join(ROOT, addonPath(target)), join(tree, basename(addonPath(target))));
  return tree;
}
