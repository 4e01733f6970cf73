// Finds circles of files in the Rust sources: a file that imports, directly or through others, itself. Inside a circle no file can be
// understood before the others, so there must be none. `cargo modules --acyclic` counts a type and its own methods as a circle and
// can't be used for that.
//
//   node scripts/check-circles.mjs           fails on a circle and prints the imports that make it
//   node scripts/check-circles.mjs --graph   prints every import between files
//
// An import is a path in code: in a `use` declaration or in front of a name. A name that a module only passes on (`pub use`) counts
// as imported from the file that defines it. Code of tests does not count, nor does `mod`, which only says where a file is.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const SOURCES = join(ROOT, 'src');

/** Modules by their path from the crate's root: `run::state`. */
const modules = new Map();

load('', join(SOURCES, 'lib.rs'), SOURCES);
const graph = new Map([...modules.values()].map((module) => [module.file, importsOf(module)]));
const circles = circlesOf(graph);

if (process.argv.includes('--graph')) {
  for (const [file, imports] of graph) for (const imported of [...imports].sort()) console.log(`${shown(file)} -> ${shown(imported)}`);
}
for (const circle of circles) {
  console.error(`A circle of ${circle.length} files:`);
  for (const file of circle) {
    const inside = [...graph.get(file)].filter((imported) => circle.includes(imported));
    console.error(`  ${shown(file)} imports ${inside.map(shown).sort().join(', ')}`);
  }
}
console.error(`${graph.size} files, ${circles.length === 0 ? 'no circle' : `${circles.length} circles`}`);
process.exitCode = circles.length === 0 ? 0 : 1;

/** Reads the module in `file` and the modules that it declares, whose files are in `folder`. */
function load(path, file, folder) {
  const code = codeOf(readFileSync(file, 'utf8'));
  const module = { path, file, code, children: new Map(), passedOn: new Map() };
  modules.set(path, module);
  for (const [, name] of code.matchAll(/\bmod\s+(\w+)\s*;/g)) {
    const inside = path === '' ? name : `${path}::${name}`;
    module.children.set(name, inside);
    const own = join(folder, `${name}.rs`);
    load(inside, existsSync(own) ? own : join(folder, name, 'mod.rs'), join(folder, name));
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

/** Removes what stands behind `#[cfg(test)]`: an item up to its `;` or its closing brace. */
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

/** The leaves of all `use` declarations, each with the name that it has here. */
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

/** The parts of a list that stand between its own commas. */
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
function importsOf(module) {
  const inCode = module.code.replace(/\b(?:pub(?:\([^)]*\))?\s+)?use\s+[^;]+;/g, ' ').matchAll(/\b[a-z_]\w*(?:::\w+)+/g);
  const paths = [...usesOf(module.code).map(({ segments }) => segments), ...[...inCode].map(([path]) => path.split('::'))];
  const files = paths.map((segments) => fileOf(module, segments)).filter((file) => file !== undefined && file !== module.file);
  return new Set(files);
}

/** The file that defines what a path in a module names, if it is one of ours. */
function fileOf(module, [first, ...rest], seen = new Set()) {
  let at;
  if (first === 'crate') at = modules.get('');
  else if (first === 'self') at = module;
  else if (first === 'super') at = parentOf(module);
  else if (module.children.has(first)) at = modules.get(module.children.get(first));
  else return undefined;
  for (const [index, name] of rest.entries()) {
    if (name === 'super') at = parentOf(at);
    else if (at.children.has(name)) at = modules.get(at.children.get(name));
    else {
      const passedOn = at.passedOn.get(name);
      if (passedOn === undefined || seen.has(passedOn)) return at.file;
      seen.add(passedOn);
      return fileOf(at, [...passedOn, ...rest.slice(index + 1)], seen) ?? at.file;
    }
  }
  return at.file;
}

function parentOf({ path }) {
  return modules.get(path.split('::').slice(0, -1).join('::'));
}

/** The strongly connected components of more than one file (Tarjan's algorithm). */
function circlesOf(edges) {
  const [numbers, lowest, stack, found] = [new Map(), new Map(), [], []];
  const visit = (file) => {
    numbers.set(file, numbers.size);
    lowest.set(file, numbers.get(file));
    stack.push(file);
    for (const next of edges.get(file)) {
      if (!numbers.has(next)) visit(next);
      if (stack.includes(next)) lowest.set(file, Math.min(lowest.get(file), lowest.get(next)));
    }
    if (lowest.get(file) !== numbers.get(file)) return;
    const component = stack.splice(stack.indexOf(file));
    if (component.length > 1) found.push(component.sort());
  };
  for (const file of edges.keys()) if (!numbers.has(file)) visit(file);
  return found;
}

function shown(file) {
  return relative(ROOT, file);
}
