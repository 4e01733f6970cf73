'use strict'

const { mkdtemp, realpath, stat } = require('node:fs/promises')
const os = require('node:os')
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const { checkingOptions, withVerifiedBundle } = require('../bundle.js')
const { Complaint, EXIT, usage } = require('../complaint.js')
const { wholeNumber } = require('../option-values.js')
const { refuseRecording } = require('../output-file.js')
const { opened } = require('../session/replay.js')
const { fileOf, isBundle, recordingAt, shown, sizeOf, withSessionFile } = require('../source.js')
const { openInBrowser } = require('../view/browser.js')

/** @import { BundleProblem } from 'session-tape' */
/** @import { CheckingOptions } from '../bundle.js' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */
/** @import { Files, Recording } from '../source.js' */
/** @typedef {Awaited<ReturnType<typeof import('../html/seal.js').sealOf>>} Seal */
/** @typedef {CheckingOptions & { html?: string, serve?: true, port?: number, text?: true }} Options */

/**
 * What is shown of a recording.
 *
 * @typedef {object} Shown
 * @property {'session' | 'run'} kind
 * @property {string} at
 * @property {string} log of a foreign session with its conversation
 * @property {string} file that of the log
 * @property {boolean} isForeign
 * @property {string} given the path as given
 * @property {number} size of the file, in bytes
 * @property {Seal | null} seal of the bundle
 * @property {(hash: string) => string} objectAt the path of an image that the session refers to
 */

const EXAMPLES = `
Examples:
  session-tape view chats/session.jsonl                # opens in the browser
  session-tape view weekly.cath-bundle --html weekly.html
  session-tape view chats/session.jsonl --serve        # whole records; a reload shows what was recorded since
  session-tape view chats/session.jsonl --text
  session-tape view chats/session.jsonl#line-120       # opens at line 120, where a search has found something

The page is one file that loads nothing. Without a browser (no desktop, or BROWSER=none) its path is printed.
`

/** @type {Define} */
function define(program, does) {
  const command = program
    .command('view')
    .summary('look at it: a conversation, or a run, as a page')
    .description('Shows a session as the conversation that it was, or a run as its graph, workers and events.')
    .argument('<path>', 'session, run or bundle')
    .option('--html <file>', 'only write the page to this file')
    .option(
      '--serve',
      'serve the page on this machine until interrupted, with whole records; a reload shows what was recorded since',
    )
    .option('--port <number>', 'with --serve: the port (default: any)', wholeNumber)
    .option('--text', 'sessions: print the conversation, through a pager on a terminal')
  checkingOptions(command).addHelpText('after', EXAMPLES).action(does(view))
}

/** @type {(context: Context, args: [string], options: Options) => Promise<void>} */
async function view(context, [given], options) {
  const modes = /** @type {const} */ (['html', 'serve', 'text']).filter((name) => options[name] !== undefined)
  if (modes.length > 1) throw usage(`--${modes[0]} and --${modes[1]} exclude each other`)
  if (options.port !== undefined && !options.serve) throw usage('--port: only with --serve')
  if ((options.port ?? 0) > 65_535) throw usage('--port: at most 65535')
  const { path: at, line } = await placeIn(given)
  if (options.html !== undefined) await refuseRecording('--html', options.html, [at])
  const source = await recordingAt(context, at)
  // A replay says which conversations there are to choose from.
  if (source.form === 'foreign') (await opened(context, source)).close()
  return withFilesAndSeal(context, source, options, (files, seal) => show(context, files, seal, { ...options, line }))
}

/**
 * Splits `PATH#line-120`, unless there is something with that whole name.
 *
 * @type {(given: string) => Promise<{ path: string, line: number | undefined }>}
 */
async function placeIn(given) {
  const [, at, line] = /^(.+)#line-(\d+)$/s.exec(given) ?? []
  const isName =
    at === undefined ||
    (await stat(given).then(
      () => true,
      () => false,
    ))
  return isName ? { path: given, line: undefined } : { path: at, line: Number(line) }
}

/**
 * Calls `use` with the files of a recording and, for a bundle, what its verification found.
 *
 * @template T
 * @param {Context} context
 * @param {Recording} source
 * @param {CheckingOptions} options
 * @param {(files: Files, seal: Seal | null) => Promise<T>} use
 */
function withFilesAndSeal(context, source, options, use) {
  if (!isBundle(source)) {
    if (options.key ?? options.signature) throw usage(`--key, --signature: ${shown(source.path)} is no bundle`)
    return withSessionFile(context, source, (files) => use(files, null))
  }
  return withVerifiedBundle(context, source, options, async ({ info, problems }, files) => {
    if (problems.length > 0 || files === undefined || info === null) throw unsound(source, problems)
    const { sealOf } = require('../html/seal.js')
    return use(files, await sealOf(files.at, info, options.key !== undefined))
  })
}

/** @type {(source: Recording, problems: BundleProblem[]) => ReturnType<typeof usage>} */
function unsound({ path: given }, problems) {
  const [{ code, message }] = problems
  return new Complaint(code, `${shown(given)} does not verify: ${message}`, {
    exitCode: EXIT.damaged,
    path: given,
    problems,
  })
}

/** @type {(context: Context, files: Files, seal: Seal | null, options: Options & { line: number | undefined }) => Promise<void>} */
async function show(context, files, seal, options) {
  const file = await fileOf(files.log)
  const recording = {
    kind: files.kind,
    at: files.at,
    log: files.log,
    file,
    isForeign: files.form === 'foreign',
    given: files.path,
    size: await sizeOf(files.log),
    seal,
    objectAt: await objectsOf(files),
  }
  if (options.line !== undefined && files.kind === 'run') throw usage('#line-N: not for a run')
  if (options.text) return require('../view/text.js').printConversation(context, recording, options.line)
  require('../html/document.js').requireLibraries()
  if (options.serve)
    return require('../view/serving.js').serveUntilInterrupted(context, recording, {
      ...options,
      fragment: fragment(options),
    })
  if (options.html !== undefined) return written(context, await writePage(context, options.html, recording), false)
  const out = path.join(await mkdtemp(path.join(os.tmpdir(), 'session-tape-view-')), `${recording.kind}.html`)
  const page = await writePage(context, out, recording)
  return written(context, page, await openInBrowser(`${pathToFileURL(out).href}${fragment(options)}`, context.env))
}

/**
 * Where the images of a session are: in its bundle, or in the store beside its directory, as that is named or as it is without links.
 *
 * @param {Files} files
 */
async function objectsOf({ at, log }) {
  const directory = path.dirname(await fileOf(log))
  if (await isFile(path.join(directory, 'manifest.json')))
    return (/** @type {string} */ hash) => path.join(directory, 'media', hash.slice(0, 2), hash)
  const named = path.dirname(path.resolve(at))
  const stores = [named, await realpath(named)].map((each) => path.join(each, '..', 'media/objects/sha256'))
  const isThere = await Promise.all(
    stores.map((store) =>
      stat(store).then(
        (found) => found.isDirectory(),
        () => false,
      ),
    ),
  )
  const store = stores[Math.max(isThere.indexOf(true), 0)]
  return (/** @type {string} */ hash) => path.join(store, hash)
}

const isFile = (/** @type {string} */ file) =>
  stat(file).then(
    (found) => found.isFile(),
    () => false,
  )

/** The part of an address that makes the page go to a line. @param {{ line: number | undefined }} place */
const fragment = ({ line }) => (line === undefined ? '' : `#line-${line}`)

/** @type {(context: Context, out: string, recording: Shown) => Promise<{ path: string, bytes: number }>} */
function writePage({ signal }, out, recording) {
  const { writeSessionPage } = require('../html/session')
  const { writeRunPage } = require('../html/run')
  return recording.kind === 'run'
    ? writeRunPage(out, recording, { signal })
    : writeSessionPage(out, recording, { signal })
}

/** @type {(context: Context, page: { path: string, bytes: number }, isOpened: boolean) => Promise<void>} */
async function written(context, page, isOpened) {
  await context.print(
    { ...page, opened: isOpened },
    () => `${isOpened ? 'opened' : 'written to'} ${shown(page.path)}\n`,
  )
}

module.exports = { define }
