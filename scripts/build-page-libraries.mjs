// `npm run build:page`: bundles the libraries of the HTML pages, one script each, with the texts of their licences, which are also in
// THIRD-PARTY-NOTICES. A page embeds the libraries that it needs (packages/cli/html/document.js), because it loads nothing.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

import { noticesText } from './release/notices-text.mjs'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const PACKAGE = join(ROOT, 'packages/cli')
const OUT = join(PACKAGE, 'html/libraries')
const ENTRY = '\0entry'

/** By file name: the global variable that a page's script uses, the module, and further packages that its published file contains. */
const LIBRARIES = {
  markdown: { global: 'MarkdownIt', module: 'markdown-it' },
  highlight: { global: 'hljs', module: 'highlight.js/lib/common' },
  sanitize: { global: 'DOMPurify', module: 'dompurify' },
  layout: { global: 'dagre', module: '@dagrejs/dagre', contains: ['@dagrejs/graphlib'] },
}

rmSync(OUT, { recursive: true, force: true })
mkdirSync(OUT, { recursive: true })
const [listed, notices] = [{}, []]
for (const [name, library] of Object.entries(LIBRARIES)) listed[name] = await build(name, library)
writeFileSync(join(PACKAGE, 'THIRD-PARTY-NOTICES'), noticesText('html/libraries', notices))
writeFileSync(join(OUT, 'list.json'), `${JSON.stringify(listed, null, 2)}\n`)

/** Writes the bundle of a library. Returns the packages in it, with version and licence. */
async function build(name, { global, module, contains = [] }) {
  const bundle = await rolldown({ input: ENTRY, cwd: ROOT, platform: 'browser', plugins: [entryOf(module)] })
  const {
    output: [chunk],
  } = await bundle.generate({ format: 'iife', name: global, minify: true, exports: 'default' })
  await bundle.close()
  const packages = [...packagesIn(chunk.moduleIds), ...contains.map(packageAt)]
  const ofPackages = packages.map(({ name: of, version, text }) => ({ title: `${of} ${version}`, text }))
  notices.push(...ofPackages)
  const comment = ofPackages.map(({ title, text }) => `${title}\n\n${text}`).join('\n\n----\n\n')
  writeFileSync(
    join(OUT, `${name}.js`),
    inScriptElement(`/*!\n${comment.replaceAll('*/', '* /')}\n*/\n${chunk.code.trim()}\n`, name),
  )
  return packages.map(({ name: of, version, licence }) => ({ name: of, version, licence }))
}

/** A module that does not exist as a file, with the library as its default export. */
function entryOf(module) {
  return {
    name: 'entry',
    resolveId: (id) => (id === ENTRY ? id : null),
    load: (id) =>
      id === ENTRY
        ? `import * as library from ${JSON.stringify(module)}\nexport default library.default ?? library`
        : null,
  }
}

function packagesIn(modules) {
  const names = modules.map(
    (id) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(id.replaceAll('\\', '/'))?.[1],
  )
  return [...new Set(names.filter((name) => name !== undefined))].sort().map(packageAt)
}

function packageAt(name) {
  const folder = join(ROOT, 'node_modules', name)
  const { version, license: licence } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each))
  if (file === undefined || typeof licence !== 'string') throw new Error(`${name} has no licence text`)
  return { name, version, licence, text: readFileSync(join(folder, file), 'utf8').trim() }
}

/** In a script element, `</script` would end the script, and `<!--` could hide its end. In strings and patterns, `\/` and `\x21` mean the same. */
function inScriptElement(code, name) {
  const safe = code.replaceAll(/<\/(?=script)/gi, '<\\/').replaceAll('<!--', '<\\x21--')
  new Function(safe)
  console.error(`${name}.js: ${Math.round(safe.length / 1000)} kB`)
  return safe
}
