// Finds citations of files and sections that do not exist, in comments, documentation and links. Prints file:line of each, and exits with 1 if there
// are any. By default it checks all files that git knows, with arguments only those named.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
process.chdir(root)

const TEXT = /\.(md|rs|js|mjs|mts|ts|json|toml|sh)$|^\.ci\/run$/
/** Test data, generated files, and records of an earlier state. */
const LEFT_OUT =
  /^(__test__\/fixtures\/|crates\/core\/proptest-regressions\/|package-lock\.json$|Cargo\.lock$|CHANGELOG\.md$)/

/** A file below one of the repository's directories. */
const PATH =
  /(?<![\w./@-])(?:\.\.?\/)*((?:src|crates|docs|lib|__test__|scripts|tests|bench|packages|demo|fuzz)\/[\w./-]*[\w-]\.(?:md|rs|js|mjs|mts|ts|json|toml|sh|html))(?![\w/])/g
/** The name of a document alone, in backquotes. */
const DOCUMENT = /`([\w.-]+\.md)`/g
/** A section of a document, or a range of them: a document and "section" or "sections 3–5". */
const SECTION = /`?(docs\/[\w-]+\.md)`?,? +sections? (\d+)(?:[–-](\d+))?/g
/** A section of a document by its title. */
const TITLE = /`?(docs\/[\w-]+\.md)`?, +"([^"]+)"/g
const LINK = /\]\(([^()\s]+)\)/g

const known = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
}).split('\n')
const files =
  process.argv.length > 2 ? process.argv.slice(2) : known.filter((path) => TEXT.test(path) && !LEFT_OUT.test(path))
const headings = new Map()
const problems = []

/** The headings of a document: their texts, and the anchors that GitHub gives them. */
function headingsOf(path) {
  if (!headings.has(path)) {
    const texts =
      readFileSync(path, 'utf8')
        .replace(/^```[\s\S]*?^```/gm, '')
        .match(/^#+ .*$/gm) ?? []
    const titles = texts.map((text) => text.replace(/^#+ /, '').trim())
    const anchors = titles.map((title) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replace(/\s/g, '-'),
    )
    headings.set(path, { titles, anchors })
  }
  return headings.get(path)
}

/** The text of a file; for code only its comments, each in its line, since strings may name other files. */
function textOf(path) {
  const text = readFileSync(path, 'utf8')
  if (!/\.(rs|js|mjs|mts|ts)$/.test(path)) return text
  return text
    .split('\n')
    .map((line) => (/^\s*(\/\/|\/?\*)/.test(line) ? line : ''))
    .join('\n')
}

function check(path) {
  const text = textOf(path)
  const report = (index, message) => problems.push(`${path}:${text.slice(0, index).split('\n').length}: ${message}`)
  const exists = (cited) => existsSync(cited) || existsSync(join(dirname(path), cited))
  for (const { 0: whole, 1: cited, index } of text.matchAll(PATH)) {
    // NAME is a placeholder for any name.
    if (/\bNAME\b/.test(cited) || exists(cited) || exists(whole)) continue
    report(index, `there is no ${whole}`)
  }
  for (const { 1: cited, index } of text.matchAll(DOCUMENT)) if (!exists(cited)) report(index, `there is no ${cited}`)
  // A citation in a comment may continue on the next line.
  const joined = text.replace(/\n[ \t]*(?:\/\/[/!]?|\*)(?= )/g, (found) => ' '.repeat(found.length - 1))
  for (const { 1: cited, 2: first, 3: last = first, index } of joined.matchAll(SECTION)) {
    if (!existsSync(cited)) continue
    for (let number = Number(first); number <= Number(last); number++) {
      if (!headingsOf(cited).titles.some((title) => title.startsWith(`${number}. `)))
        report(index, `${cited} has no section ${number}`)
    }
  }
  for (const { 1: cited, 2: title, index } of joined.matchAll(TITLE)) {
    if (existsSync(cited) && !headingsOf(cited).titles.some((one) => one.replace(/^\d+\. /, '') === title))
      report(index, `${cited} has no section "${title}"`)
  }
  if (path.endsWith('.md')) checkLinks(path, text, report)
}

function checkLinks(path, text, report) {
  for (const { 1: target, index } of text.matchAll(LINK)) {
    if (/^[a-z]+:/.test(target)) continue
    const [file, anchor] = target.split('#')
    const cited = file === '' ? path : normalize(join(dirname(path), file))
    if (!existsSync(cited)) report(index, `there is no ${target}`)
    else if (anchor && cited.endsWith('.md') && !headingsOf(cited).anchors.includes(anchor))
      report(index, `${cited} has no heading #${anchor}`)
  }
}

files.forEach(check)
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
