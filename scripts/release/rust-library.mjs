// The licences of Rust's standard library and of the crates inside it, from the notices that come with the compiler.

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT, output } from '../platforms/commands.mjs'

/** The library's own crates, which its notice covers as a whole. */
const OWN =
  /^(alloc|compiler_builtins|core|panic_.*|proc_macro|profiler_builtins|rustc_std_workspace_.*|std|std_detect|sysroot|test|unwind)$/
const NOT_LINKED = ['getopts', 'rustc_literal_escaper']

/** The first covers the library. The second covers the compiler too, and has crates that are missing in the first. */
const NOTICES = ['COPYRIGHT-library.html', 'COPYRIGHT.html']

/** @returns {{ title: string, text: string }[]} for the library as a whole, and for each crate inside it */
export function rustLibraryNotices({ triple }) {
  const sysroot = output('rustc', ['--print', 'sysroot'])
  const pages = NOTICES.map((name) => readFileSync(join(sysroot, 'share', 'doc', 'rust', name), 'utf8'))
  const version = output('rustc', ['--version'])
  const crates = cratesOf(join(sysroot, 'lib', 'rustlib', triple, 'lib'))
  return [
    { title: `the standard library of ${version}`, text: `${inTree(pages[0])}\n\n${mitTerms()}` },
    ...crates.map((name) => noticeOf(name, pages)),
  ]
}

/** The terms of the MIT licence, which are the same for all that use it. */
function mitTerms() {
  const licence = readFileSync(join(ROOT, 'LICENSE'), 'utf8')
  return licence.slice(licence.indexOf('Permission is hereby granted')).trim()
}

/** The crates of the library that is installed for a target. */
function cratesOf(directory) {
  const names = readdirSync(directory).map((file) => /^lib(\w+)-[0-9a-f]{16}\.rlib$/.exec(file)?.[1])
  const crates = names.filter((name) => name !== undefined && !OWN.test(name) && !NOT_LINKED.includes(name)).sort()
  if (crates.length === 0) throw new Error(`there is no standard library in ${directory}`)
  return crates
}

function noticeOf(name, pages) {
  for (const page of pages) {
    const [newest] = entriesOf(page)
      .filter((entry) => entry.name.replaceAll('-', '_') === name)
      .sort((one, other) => other.version.localeCompare(one.version, 'en', { numeric: true }))
    // The version in the notice may differ from the one that is linked. The licence is the same.
    if (newest?.text) return { title: `${name} (in Rust's standard library)`, text: newest.text }
  }
  throw new Error(`the notices of Rust name no licence of ${name}, which is in its standard library`)
}

const entriesOf = (page) =>
  page
    .split('<h3>📦 ')
    .slice(1)
    .map((entry) => {
      const [, name, version] = /^(.+?)-(\d[^<]*)</.exec(entry)
      const licence = plain(/<b>License:<\/b>([^]*?)<\/p>/.exec(entry)?.[1] ?? '').trim()
      const files = [...entry.matchAll(/<code>([^<]*)<\/code><\/summary>\s*<pre>([^]*?)<\/pre>/g)].map(
        ([, file, text]) => ({ file, text: plain(text).trim() }),
      )
      return {
        name,
        version,
        text: chosen(licence, files)
          .map(({ text }) => text)
          .join('\n\n'),
      }
    })

/** Chooses MIT where it is one of several licences to choose from. */
function chosen(licence, files) {
  const mit = files.filter(({ file }) => /mit/i.test(file))
  return /\bMIT\b/.test(licence) && !/ AND /.test(licence) && mit.length > 0 ? mit : files
}

/** The part of the notice before the crates, about the library's own files. */
function inTree(page) {
  const found = /In-tree files<\/h2>([^]*?)<h2/.exec(page)
  if (found === null) throw new Error(`${NOTICES[0]} has no part about the files of the library itself`)
  return plain(found[1].replace(/^[^]*?<\/p>/, ''))
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n')
}

const ENTITIES = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' }
const plain = (html) =>
  html
    .replace(/<[^>]+>/g, '')
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replace(/&\w+;/g, (entity) => ENTITIES[entity] ?? entity)
