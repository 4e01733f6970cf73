// Keeps the house from growing back: each number in ratchet.json may go down, but not up. The mass of a room is its characters without comments, tests
// and white space, in thousands.
//
//   node scripts/check-ratchet.mjs            fails if a number has gone up
//   node scripts/check-ratchet.mjs --lower    writes the numbers that have gone down
//
// A number that has to go up is changed by hand, in the commit that needs it, with the reason in its body.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

process.chdir(join(import.meta.dirname, '..'))
const FILE = 'scripts/ratchet.json'
const MAX_LINES = 600
const CODE = /\.(rs|[cm]?[jt]s|py|css|html|toml)$/
const TEST = /(^|\/)(tests?|__test__|fuzz|testing)[/.]|tests?\.rs$|(^|\/)test_[^/]*\.py$/
const RUST =
  /(r(#*)"[^]*?"\2|"(?:\\[^]|[^"\\])*"|'(?:\\[^']*|[^'\\])')|\/\/.*|\/\*[^]*?\*\/|^#\[cfg\((?:all\()?test[^]*?\n(?:mod \w+;|\}$)/gm
const SCRIPT = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[^]|[^`\\])*`)|\/\/.*|\/\*[^]*?\*\//g

const read = (file) => readFileSync(file, 'utf8')
const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).match(/.+/g)
const found = measured()
const allowed = JSON.parse(read(FILE))
const higher = Object.keys(found).filter((name) => !(found[name] <= (allowed[name] ?? 0)))
const lower = Object.keys(allowed).filter((name) => !(found[name] >= allowed[name]))
for (const name of higher) console.error(`${name}: ${found[name]}, at most ${allowed[name] ?? 0} allowed`)
if (process.argv.includes('--lower')) {
  const kept = Object.entries(allowed).filter(([name]) => name in found)
  const lowered = kept.map(([name, most]) => [name, Math.min(most, found[name])])
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(lowered), null, 2)}\n`)
} else if (lower.length > 0) console.error(`lower by now, see --lower: ${lower.join(', ')}`)
process.exitCode = higher.length === 0 ? 0 : 1

/** The numbers of today, by their names. */
function measured() {
  const code = new Map(files.filter((file) => CODE.test(file)).map((file) => [file, codeOf(file)]))
  const numbers = {}
  for (const [file, text] of code) numbers[roomOf(file)] = (numbers[roomOf(file)] ?? 0) + text.replace(/\s/g, '').length
  for (const room of Object.keys(numbers)) numbers[room] = Math.ceil(numbers[room] / 1000)
  const core = [...code]
    .filter(([file]) => roomOf(file).startsWith('crates/core'))
    .map(([, text]) => text)
    .join('\n')
  const types = core.match(/^ *(pub(\([^)]*\))? )?(struct|enum|trait|union) /gm).length
  numbers['types per 1 000 lines of the core'] = Math.round((types * 10_000) / core.match(/^.*\S.*$/gm).length) / 10
  numbers[`files of more than ${MAX_LINES} lines`] = [...code.keys()].filter(
    (file) => read(file).split('\n').length > MAX_LINES,
  ).length
  const documents = files.filter((file) => file.endsWith('.md'))
  numbers['words of documents'] = documents.reduce((sum, file) => sum + read(file).match(/\S+/g).length, 0)
  return numbers
}

function codeOf(file) {
  if (/\.(py|toml)$/.test(file)) return read(file).replace(/^\s*#.*$/gm, '')
  return read(file).replace(file.endsWith('.rs') ? RUST : SCRIPT, '$1')
}

function roomOf(file) {
  if (TEST.test(file)) return 'tests'
  const folders = dirname(file).split('/')
  return folders.slice(0, { crates: 4, packages: 2 }[folders[0]] ?? 1).join('/')
}
