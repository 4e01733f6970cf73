// Finds citations of files and sections that do not exist, in comments and documents. Prints file and line of each, and exits with 1 if there are any.
// Tests check the links of documents, TypeDoc those of the library's comments.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

process.chdir(join(import.meta.dirname, '..'))
const TEXT = /\.(md|rs|[cm]?[jt]s|json|toml|sh)$|^\.ci\/run$/
/** Test data, generated files, and records of an earlier state. */
const LEFT_OUT = /^(__test__\/fixtures|crates\/core\/proptest-regressions)\/|package-lock\.json$|^CHANGELOG\.md$/

/** A file below one of the repository's directories, or a document alone in backquotes. */
const PATH =
  /(?<![\w./@-])((?:\.\.?\/)*(?:src|crates|docs|lib|__test__|scripts|tests|bench|packages|demo|fuzz)\/[\w./-]*[\w-]\.(?:md|rs|[cm]?[jt]s|json|toml|sh|html))(?![\w/])|`([\w.-]+\.md)`/g
/** A section of a document by its number, a range of them, or one by its title. */
const SECTION = /`?(docs\/[\w-]+\.md)`?,? +(?:sections? (\d+)(?:[–-](\d+))?|"([^"]+)")/g

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).match(/.+/g)
for (const file of files.filter((path) => TEXT.test(path) && !LEFT_OUT.test(path))) check(file)

function check(file) {
  const text = textOf(file)
  const report = (index, message) => {
    console.error(`${file}:${text.slice(0, index).split('\n').length}: ${message}`)
    process.exitCode = 1
  }
  for (const { 1: path, 2: document, index } of text.matchAll(PATH)) {
    const cited = path ?? document
    const places = [cited, join(dirname(file), cited), cited.replace(/^[./]+/, '')]
    // NAME is a placeholder for any name.
    if (!/\bNAME\b/.test(cited) && !places.some(existsSync)) report(index, `there is no ${cited}`)
  }
  // A citation in a comment may continue on the next line.
  const joined = text.replace(/\n[ \t]*(?:\/\/[/!]?|\*)(?= )/g, (found) => ' '.repeat(found.length - 1))
  for (const { 1: cited, 2: first, 3: last = first, 4: title, index } of joined.matchAll(SECTION)) {
    if (!existsSync(cited)) continue
    const headings = readFileSync(cited, 'utf8')
      .match(/^#+ .*$/gm)
      .map((line) => line.replace(/^#+ /, '').trim())
    const isThere = (number) => headings.some((heading) => heading.startsWith(`${number}. `))
    for (let number = Number(first); number <= Number(last); number++)
      if (!isThere(number)) report(index, `${cited} has no section ${number}`)
    if (title !== undefined && !headings.some((heading) => heading.replace(/^\d+\. /, '') === title))
      report(index, `${cited} has no section "${title}"`)
  }
}

/** The text of a file; for code only its comments, each in its line, since strings may name other files. */
function textOf(file) {
  const text = readFileSync(file, 'utf8')
  return /\.(rs|[cm]?[jt]s)$/.test(file) ? text.replace(/^(?!\s*(\/\/|\/?\*)).*$/gm, '') : text
}
