'use strict'

const { bundleRows, checkingOptions, withVerifiedBundle } = require('../bundle.js')
const { EXIT, meansDamage, usage } = require('../complaint.js')
const { refuseOptions, trustedKeys } = require('../option-values.js')
const { page } = require('../page.js')
const { count, plural } = require('../quantities.js')
const { checkTable, failures, unverifiable } = require('../run/checks.js')
const { printable } = require('../safe-text.js')
const { verifySession } = require('../session/verify.js')
const { isBundle, recordingAt } = require('../source.js')

/** @import { BundleVerification, RunVerification, RunVerifyOptions } from 'session-tape' */
/** @import { CheckingOptions } from '../bundle.js' */
/** @import { Colours } from '../colours.js' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */
/** @import { Bundle, Files } from '../source.js' */
/** @typedef {Awaited<ReturnType<typeof verifySession>>} SessionVerification */

/**
 * What was verified. The kind of an archive with problems may be unknown.
 *
 * @typedef {{ run?: RunVerification, session?: SessionVerification }} Content
 * @typedef {Content & ({ kind: 'session' | 'run', bundle?: undefined } | { kind?: 'session' | 'run', bundle: BundleVerification })} Found
 * @typedef {Found & { path: string, ok: boolean }} Result
 */

const EXAMPLES = `
Examples:
  session-tape verify weekly.cath-bundle
  session-tape verify release.cath-bundle.tar.zst --key ci.pub.pem --signature required
  session-tape verify chats/session.jsonl --json && echo sound

A session is damaged if its replay warns of anything but events of an unknown type, which newer programs write. A run is damaged
if anything failed, or can't be verified. In a bundle what was redacted can't be verified, and that is no damage.
`

const MAX_WARNINGS = 20

const KEYS = "a trusted public key (PEM) for a bundle's signature or a run's snapshots"

/** @type {Define} */
function define(program, does) {
  const command = program
    .command('verify')
    .summary('whether it is what was recorded')
    .description('Recomputes everything that can be recomputed. Exit code 1 if something is damaged.')
    .argument('<path>', 'session, run or bundle')
  checkingOptions(command, KEYS).addHelpText('after', EXAMPLES).action(does(verify))
}

/** @type {(context: Context, args: [string], options: CheckingOptions) => Promise<number>} */
async function verify(context, [path], options) {
  const source = await recordingAt(context, path)
  const found = isBundle(source) ? await sealed(context, source, options) : await unsealed(context, source, options)
  const result = { path, ok: isFine(found), ...found }
  await context.print(result, text)
  return result.ok ? EXIT.fine : EXIT.damaged
}

/**
 * Verifies a bundle first, and then the content if the bundle has no problems.
 *
 * @type {(context: Context, source: Bundle, options: CheckingOptions) => Promise<Found>}
 */
async function sealed(context, source, options) {
  return withVerifiedBundle(
    context,
    source,
    options,
    /** @returns {Promise<Found>} */ async (bundle, files) => {
      const kind = bundle.info?.kind ?? source.kind
      if (!bundle.ok || files === undefined) return { kind, bundle }
      // The bundle is already verified, and must not be verified again.
      if (kind === 'session')
        return { kind, bundle, session: await verifySession(context, { ...files, at: files.log }) }
      return {
        kind,
        bundle,
        run: await runOf(context, files.at, { trustedKeys: await trustedKeys(options.key), verifiedBundle: true }),
      }
    },
  )
}

/** @type {(context: Context, source: Files, options: CheckingOptions) => Promise<Found>} */
async function unsealed(context, source, { signature, key }) {
  if (signature === 'required')
    throw usage(`--signature required: ${printable(source.path)} is no bundle, and has none`)
  if (source.kind === 'run')
    return { kind: 'run', run: await runOf(context, source.at, { trustedKeys: await trustedKeys(key) }) }
  refuseOptions({ key }, ['key'], 'a session')
  return { kind: 'session', session: await verifySession(context, source) }
}

/** @type {(context: Context, at: string, options: RunVerifyOptions) => Promise<RunVerification>} */
async function runOf(context, at, options) {
  const run = await context.during('verifying', (more) => context.tape.verifyRun(at, { ...options, ...more }))
  const failure = run.chain.firstFailure
  if (failure && !meansDamage(failure)) throw Object.assign(new Error(failure.message), failure)
  return run
}

/** Data that a bundle lists as redacted is unverifiable, which does not count as damage. @param {Found} found */
function isFine({ bundle, run, session }) {
  if (bundle && !bundle.ok) return false
  if (session) return session.ok
  return run === undefined || run.ok || (bundle !== undefined && failures(run) === 0)
}

const TITLES = { session: 'A session', run: 'A run' }

/** @type {(result: Result, colour: Colours, width: number) => string} */
function text(result, colour, width) {
  const { path, kind, bundle, run, session } = result
  const sections = [
    bundle ? bundleRows(bundle, colour, width) : [],
    run ? checkTable(run, colour, width) : [],
    session ? sessionRows(session, colour, width) : [],
    [verdict(result, colour)],
  ]
  const title = bundle ? `A bundle${kind ? ` of ${TITLES[kind].toLowerCase()}` : ''}` : TITLES[kind]
  return page(title, printable(path, 1000), sections, colour)
}

/** @type {(session: SessionVerification, colour: Colours, width: number) => string[]} */
function sessionRows({ error, eventCount, damage, notes }, colour, width) {
  const longest = Math.max(40, width - 4)
  /** @type {(texts: string[], tone: 'red' | 'yellow', mark: string) => string[]} */
  const marked = (texts, tone, mark) => texts.map((each) => `  ${colour[tone](mark)} ${printable(each, longest)}`)
  const rows = [
    ...marked(error ? [error] : [], 'red', '✗'),
    ...marked(damage, 'red', '✗'),
    ...marked(notes, 'yellow', '!'),
  ]
  const shown = rows.slice(0, MAX_WARNINGS)
  if (rows.length > shown.length) shown.push(colour.dim(`  … and ${count(rows.length - shown.length)} more`))
  return error ? shown : [`${plural(/** @type {number} */ (eventCount), 'event')} replayed`, ...shown]
}

/** @type {(result: Result, colour: Colours) => string} */
function verdict({ ok, run }, colour) {
  if (!ok) return colour.red('damaged')
  const left = run ? unverifiable(run) : 0
  return left > 0 ? `${colour.green('sound')}, but for ${count(left)} that can't be verified` : colour.green('sound')
}

module.exports = { define }
