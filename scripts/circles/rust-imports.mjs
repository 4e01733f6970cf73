// The imports between the files of a crate.
//
// An import is a path in code: in a `use` declaration or before a name. A name that a module re-exports (`pub use`) counts as imported from the file
// that defines it. Test code does not count, nor does `mod`, which only says where a file is.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param {string} folder the folder of `lib.rs`
 * @returns {Map<string, Set<string>>} the imported files of each file
 */
export function rustImports(folder) {
  /** Modules by their path from the crate's root: `run::state`. */
  const modules = new Map();
  load(modules, '', join(folder, 'lib.rs'), folder);
  return new Map([...modules.values()].map((module) => [module.file, importsOf(modules, module)]));
}

/** Reads the module in `file` and the modules that it declares, whose files are in `folder`. */
function load(modules, path, file, folder) {
  const code = codeOf(readFileSync(file, 'utf8'));
  const module = { path, file, code, children: new Map(), passedOn: new Map() };
  modules.set(path, module);
  for (const [, name] of code.matchAll(/\bmod\s+(\w+)\s*;/g)) {
    const inside = path === '' ? name : `${path}::${name}`;
    module.children.set(name, inside);
    const own = join(folder, `${name}.rs`);
    load(modules, inside, existsSync(own) ? own : join(folder, name, 'mod.rs'), join(folder, name));
  }
  for (const { segments, alias, isPublic } of usesOf(code)) {
    if (isPublic) module.passedOn.set(alias, segments);
  }
}

/** The text without comments, literals and tests. */
function codeOf(text) {
  const literals = /\/\/[^\n]*|\/\*[^]*?\*\/|b?r(#*)"[^]*?"\1|b?"(?:\\[^]|[^"\\])*"|b?'(?:\\[^']*|[^'\\])'/g;
  const bare = text.replace(literals, ' ').replace(/\bpub\(in [\w:]+\)/g, 'pub');
  return withoutTests(bare);
}

/** Removes each item after `#[cfg(test)]`, up to its `;` or its closing brace. */
function withoutTests(code) {
  let rest = code;
  for (;;) {
    const at = rest.search(/#\[cfg\((?:all\()?test\b/);
    if (at < 0) return rest;
    rest = rest.slice(0, at) + rest.slice(endOfItem(rest, rest.indexOf(']', at) + 1));
  }
}

function endOfItem(code, from) {
  let depth = 0;
  for (let at = from; at < code.length; at++) {
    if (code[at] === '{') depth += 1;
    if (code[at] === '}' && --depth === 0) return at + 1;
    if (code[at] === ';' && depth === 0) return at + 1;
  }
  return code.length;
}

/** The leaves of all `use` declarations, each with its local name. */
function usesOf(code) {
  const uses = [...code.matchAll(/\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);/g)];
  return uses.flatMap(([, visibility, tree]) => leavesOf(tree.replace(/\s+/g, ' ').trim()).map((leaf) => ({ ...leaf, isPublic: visibility !== undefined })));
}

function leavesOf(tree, before = []) {
  const group = /^((?:\w+::)*)\{([^]*)\}$/.exec(tree);
  if (group) {
    const segments = [...before, ...group[1].split('::').filter(Boolean)];
    return partsOf(group[2]).flatMap((part) => leavesOf(part, segments));
  }
  const [path, alias] = tree.split(/ as /);
  const segments = [...before, ...path.split('::').map((segment) => segment.trim())].filter((segment, index) => segment !== 'self' || index === 0);
  return [{ segments, alias: alias?.trim() ?? segments.at(-1) }];
}

/** The parts of a list, split at its own commas but not at those of nested groups. */
function partsOf(list) {
  const parts = [''];
  let depth = 0;
  for (const char of list) {
    if (char === '{') depth += 1;
    if (char === '}') depth -= 1;
    if (char === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts.map((part) => part.trim()).filter(Boolean);
}

/** The other files that the code of a module imports. */
function importsOf(modules, module) {
  const inCode = module.code.replace(/\b(?:pub(?:\([^)]*\))?\s+)?use\s+[^;]+;/g, ' ').matchAll(/\b[a-z_]\w*(?:::\w+)+/g);
  const paths = [...usesOf(module.code).map(({ segments }) => segments), ...[...inCode].map(([path]) => path.split('::'))];
  const files = paths.map((segments) => fileOf(modules, module, segments)).filter((file) => file !== undefined && file !== module.file);
  return new Set(files);
}

/** The file that defines what a path in a module names. `undefined` if it is not one of ours. */
function fileOf(modules, module, [first, ...rest], seen = new Set()) {
  let at;
  if (first === 'crate') at = modules.get('');
  else if (first === 'self') at = module;
  else if (first === 'super') at = parentOf(modules, module);
  else if (module.children.has(first)) at = modules.get(module.children.get(first));
  else return undefined;
  for (const [index, name] of rest.entries()) {
    if (name === 'super') at = parentOf(modules, at);
    else if (at.children.has(name)) at = modules.get(at.children.get(name));
    else {
      const passedOn = at.passedOn.get(name);
      if (passedOn === undefined || seen.has(passedOn)) return at.file;
      seen.add(passedOn);
      return fileOf(modules, at, [...passedOn, ...rest.slice(index + 1)], seen) ?? at.file;
    }
  }
  return at.file;
}

function parentOf(modules, { path }) {
  return modules.get(path.split('::').slice(0, -1).join('::'));
}
