'use strict'

// Options, verification and output of bundles, shared by several commands.

const { Option } = require('commander')
const { Complaint } = require('./complaint.js')
const { gathered, trustedKeys } = require('./option-values.js')
const { row } = require('./page.js')
const { count, fileSize, plural } = require('./quantities.js')
const { printable } = require('./safe-text.js')
const { withVerified } = require('./source.js')

/** @import { BundleInfo, BundleMedia, BundleProblem, BundleVerification, VerifyBundleOptions } from 'session-tape' */
/** @import { Command } from 'commander' */
/** @import { Colours } from './colours.js' */
/** @import { Context } from './context.js' */
/** @import { Files, Recording } from './source.js' */
/** @typedef {{ key?: string[], signature?: VerifyBundleOptions['signature'] }} CheckingOptions those of `checkingOptions` */

const MAX_PROBLEMS = 30

const POLICIES = ['required', 'ifPresent', 'ignore']

/** Adds the options of a verification, and `--json`. `keys` is the description of `--key`. @param {Command} command */
function checkingOptions(command, keys = 'a trusted public key (PEM)') {
  return command
    .option('--key <file>', `${keys}; may be repeated`, gathered)
    .addOption(
      new Option('--signature <policy>', "what is asked of a bundle's signature (default: ifPresent)").choices(
        POLICIES,
      ),
    )
    .option('--json', 'the result as JSON')
}

/** The options for `verifyBundle` and `importBundle` from those of the command line. @param {CheckingOptions} options */
async function verifyOptions({ key, signature }) {
  const keys = await trustedKeys(key)
  return { trustedKeys: keys, ...(signature && { signature }) }
}

/**
 * The result of `verifyBundle`. Throws if the source is not a bundle.
 *
 * @type {(context: Context, source: Recording, options: CheckingOptions) => Promise<BundleVerification>}
 */
async function bundleVerification(context, source, options) {
  const asked = await verifyOptions(options)
  const found = await context.during('verifying', (more) => context.tape.verifyBundle(source.at, { ...asked, ...more }))
  return expectBundle(source, found)
}

/**
 * Like `bundleVerification`, and passes the files of a bundle without problems to `use`.
 *
 * @template T
 * @param {Context} context
 * @param {Recording} source
 * @param {CheckingOptions} options
 * @param {(found: BundleVerification, files: Files | undefined) => Promise<T>} use
 */
async function withVerifiedBundle(context, source, options, use) {
  return withVerified(context, source, await verifyOptions(options), (found, files) =>
    use(expectBundle(source, found), files),
  )
}

/** @type {(source: Recording, found: BundleVerification) => BundleVerification} */
function expectBundle(source, found) {
  const [problem] = found.problems
  if (problem?.code === 'NotABundle') throw new Complaint(problem.code, problem.message, { path: source.path })
  return found
}

/** @type {(found: BundleVerification, colour: Colours, width: number) => string[]} */
function bundleRows({ info, problems }, colour, width) {
  return [...(info ? infoRows(info, colour) : []), ...problemRows(problems, colour, width)]
}

/** @type {(info: BundleInfo, colour: Colours) => string[]} */
function infoRows({ bundleId, kind, files, bytes, events, redactions, partial, media }, colour) {
  return [
    row('Bundle', colour.cyan(printable(bundleId)), colour),
    row('Of', `a ${kind}${partial ? ', from a snapshot on' : ''}`, colour),
    row(
      'Holds',
      `${plural(events, kind === 'run' ? 'event' : 'record')} in ${plural(files, 'file')} (${fileSize(bytes)})`,
      colour,
    ),
    row('Redacted', redactions > 0 ? `${count(redactions)} of them` : colour.dim('nothing'), colour),
    ...(media === undefined ? [] : [row('Images', imagesText(media), colour)]),
  ]
}

/** What became of the images to which a session refers. @param {BundleMedia} media */
function imagesText({ sealed, missing, bytes, dropped }) {
  if (dropped !== undefined) return `${count(dropped)} left out`
  return `${count(sealed)} sealed (${fileSize(bytes)})${missing > 0 ? `, ${count(missing)} missing` : ''}`
}

/** @type {(problems: BundleProblem[], colour: Colours, width: number) => string[]} */
function problemRows(problems, colour, width) {
  const rows = problems.slice(0, MAX_PROBLEMS).map(({ code, message }) => {
    return `${colour.red('✗')} ${colour.bold(printable(code))}  ${printable(message, Math.max(200, width * 3))}`
  })
  if (problems.length > rows.length) rows.push(colour.dim(`… and ${count(problems.length - rows.length)} more`))
  return rows
}

module.exports = { checkingOptions, verifyOptions, bundleVerification, withVerifiedBundle, bundleRows, infoRows }
