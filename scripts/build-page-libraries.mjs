// `npm run build:page`: bundles the script of each HTML page with its libraries, and with the texts of their licences, which are also in
// THIRD-PARTY-NOTICES. A page embeds its script (packages/cli/html/document.js), because it loads nothing.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

import { noticesText } from './release/notices-text.mjs'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const PACKAGE = join(ROOT, 'packages/cli')
const OUT = join(PACKAGE, 'html/libraries')
const PAGES = ['session', 'run', 'diff']
/** Packages that the published file of another one contains. */
const CONTAINED = { '@dagrejs/dagre': ['@dagrejs/graphlib'] }

if (!existsSync(join(PACKAGE, 'invisible.js'))) throw new Error('`npm run build:lib` comes first')
rmSync(OUT, { recursive: true, force: true })
mkdirSync(OUT, { recursive: true })
const [listed, notices] = [{}, new Map()]
for (const name of PAGES) listed[name] = await build(name)
writeFileSync(join(PACKAGE, 'THIRD-PARTY-NOTICES'), noticesText('html/libraries', [...notices.values()]))
writeFileSync(join(OUT, 'list.json'), `${JSON.stringify(listed, null, 2)}\n`)

/** Writes the script of a page. Returns the packages in it, with version and licence. */
async function build(page) {
  const bundle = await rolldown({ input: join(PACKAGE, `html/view/${page}.mjs`), cwd: ROOT, platform: 'browser' })
  const {
    output: [chunk],
  } = await bundle.generate({ format: 'iife', minify: true })
  await bundle.close()
  const packages = packagesIn(chunk.moduleIds)
  const ofPackages = packages.map(({ name, version, text }) => ({ title: `${name} ${version}`, text }))
  for (const notice of ofPackages) notices.set(notice.title, notice)
  const comment = ofPackages.map(({ title, text }) => `${title}\n\n${text}`).join('\n\n----\n\n')
  const code = `/*!\n${comment.replaceAll('*/', '* /')}\n*/\n${chunk.code.trim()}\n`
  writeFileSync(join(OUT, `${page}.js`), inScriptElement(code, page))
  return packages.map(({ name, version, licence }) => ({ name, version, licence }))
}

function packagesIn(modules) {
  const names = modules.map(
    (id) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(id.replaceAll('\\', '/'))?.[1],
  )
  const found = names.filter((name) => name !== undefined).flatMap((name) => [name, ...(CONTAINED[name] ?? [])])
  return [...new Set(found)].sort().map(packageAt)
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
