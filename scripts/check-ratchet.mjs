// Keeps the house from growing back: each number in ratchet.json may go down, but not up.
//
//   node scripts/check-ratchet.mjs            fails if a number has gone up
//   node scripts/check-ratchet.mjs --lower    writes the numbers that have gone down
//
// A number that has to go up is changed by hand, in the commit that needs it, with the reason in its body.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const FILE = join(ROOT, 'scripts/ratchet.json');
const TESTS = /(^|\/)(tests|interleavings|fuzzing)(\/|\.rs$)|_tests\.rs$/;

const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean);
const found = measured();
const allowed = JSON.parse(readFileSync(FILE, 'utf8'));

const higher = Object.keys(found).filter((name) => !(found[name] <= (allowed[name] ?? 0)));
const lower = Object.keys(allowed).filter((name) => (found[name] ?? 0) < allowed[name]);
for (const name of higher) console.error(`${name}: ${found[name]}, at most ${allowed[name] ?? 0} allowed`);
if (process.argv.includes('--lower')) writeFileSync(FILE, `${JSON.stringify({ ...allowed, ...Object.fromEntries(lower.map((name) => [name, found[name] ?? 0])) }, null, 2)}\n`);
else if (lower.length > 0) console.error(`lower by now, see --lower: ${lower.join(', ')}`);
process.exitCode = higher.length === 0 ? 0 : 1;

/** The numbers of today, by their names. */
function measured() {
  const rust = files.filter((file) => /^(src|crates\/core\/src|python\/src)\/.*\.rs$/.test(file) && !TESTS.test(file));
  const core = rust.filter((file) => file.startsWith('crates/core/src/')).map(codeOf).join('\n');
  const numbers = {};
  for (const file of [...rust, ...files.filter((name) => /^(lib|packages\/cli|python\/package)\/.*\.(js|mjs|ts|py)$/.test(name))]) {
    const room = roomOf(file);
    numbers[`lines of ${room}`] = (numbers[`lines of ${room}`] ?? 0) + codeOf(file).split('\n').filter((line) => line.trim() !== '').length;
  }
  numbers['public items of the core'] = count(core, /^ *pub (?!use )/gm);
  numbers['names that leave the rooms of the core'] = files.filter((file) => /^crates\/core\/src\/\w+\/mod\.rs$/.test(file)).reduce((sum, file) => sum + namesOf(codeOf(file)), 0);
  numbers['types per 1 000 lines of the core'] = Math.round((count(core, /^ *(pub(\([^)]*\))? )?(struct|enum|trait|union) /gm) * 10_000) / core.split('\n').filter((line) => line.trim() !== '').length) / 10;
  // docs/api.md is written by a script.
  numbers['words of documents'] = files.filter((file) => file !== 'docs/api.md' && /^(docs\/[\w-]+|README|CONTRIBUTING|bench\/\w+|python\/(bench\/)?\w+)\.md$/.test(file)).reduce((sum, file) => sum + read(file).split(/\s+/).length, 0);
  return numbers;
}

function read(file) {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** A file without comments of whole lines, and in Rust without the tests at its end. */
function codeOf(file) {
  const text = file.endsWith('.rs') ? read(file).replace(/^#\[cfg\(test\)\]\nmod tests \{[^]*/m, '') : read(file);
  return text.replace(/^\s*(\/\/|\*|\/\*|#(?!\[)).*$/gm, '');
}

/** `crates/core/src/run` of a file in it, and `src` or `lib` of one that is not in a folder. */
function roomOf(file) {
  const [first, ...others] = file.split('/');
  return first === 'crates' ? others.slice(2, 3).map((name) => `core: ${name.replace(/\.rs$/, '')}`)[0] : first === 'packages' ? 'packages/cli' : first;
}

/** The number of names that a door re-exports, to everybody or to the other rooms. */
function namesOf(door) {
  return [...door.matchAll(/^pub(?:\(crate\))? use ([^;]+);/gm)].reduce((sum, [, path]) => sum + path.split(/[{,]/).filter((name) => /\w/.test(name)).length - Number(path.includes('{')), 0);
}

function count(text, pattern) {
  return [...text.matchAll(pattern)].length;
}
