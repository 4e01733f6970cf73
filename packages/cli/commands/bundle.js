'use strict'

const fs = require('node:fs/promises')
const path = require('node:path')
const { Option } = require('commander')
const { bundleRows, bundleVerification, checkingOptions, infoRows, verifyOptions } = require('../bundle.js')
const { Complaint, EXIT, failureOf } = require('../complaint.js')
const { gathered, redactionRules, signingKey, wholeNumber } = require('../option-values.js')
const { refuseRecording } = require('../output-file.js')
const { page } = require('../page.js')
const { printable } = require('../safe-text.js')
const { bundleAt, recordingAt, withFiles } = require('../source.js')

/** @import { ExportOptions } from 'session-tape' */
/** @import { Command } from 'commander' */
/** @import { CheckingOptions } from '../bundle.js' */
/** @import { Context } from '../context.js' */
/** @import { Define, Does } from '../program.js' */
/** @typedef {(bundle: Command, does: Does) => void} DefineOne */
/** @typedef {{ signWith?: string, rule?: string[], ruleFile?: string[], redact: boolean, fromSnapshot?: string | true, level?: number, allowDamaged?: true, mediaDir?: string, media?: 'skip' | 'drop' }} Exporting */

const EXPORT_EXAMPLES = `
Examples:
  session-tape bundle export runs/weekly weekly.cath-bundle.tar.zst
  session-tape bundle export session.jsonl report.cath-bundle --rule ticket='T-[0-9]{6}'
  session-tape bundle export runs/weekly weekly.cath-bundle --sign-with ci.key.pem --from-snapshot latest

DEST is one file if it ends in .tar.zst, else a directory; it must not exist. Well-known secrets (keys, tokens, passwords in URLs) are
replaced unless --no-redact is given. Images to which a session refers are sealed as they are. A rule file holds a JSON array of {"name","pattern"} or {"name","path"}, each with "kinds" and
"tools" if wanted.
`

const VERIFY_EXAMPLES = `
Examples:
  session-tape bundle verify weekly.cath-bundle.tar.zst
  session-tape bundle verify weekly.cath-bundle --key ci.pub.pem --signature required
`

const IMPORT_EXAMPLES = `
Examples:
  session-tape bundle import weekly.cath-bundle.tar.zst runs/weekly
  session-tape bundle import weekly.cath-bundle.tar.zst runs/weekly --key ci.pub.pem --signature required

Nothing is written unless all of the bundle verified.
`

/** @type {Define} */
function define(program, does) {
  const bundle = program
    .command('bundle')
    .summary('seal, check and unpack bundles')
    .description('Bundles: a run or a session, sealed so that another machine can check and replay it.')
    .helpCommand('help [command]', 'show help of a command')
  defineExport(bundle, does)
  defineVerify(bundle, does)
  defineImport(bundle, does)
}

/** @type {DefineOne} */
function defineExport(bundle, does) {
  bundle
    .command('export')
    .summary('seal a run or a session')
    .description('Seals a run or a session into a bundle, without the secrets in it. The source stays as it is.')
    .argument('<src>', 'session, run or bundle')
    .argument('<dest>', 'the bundle: NAME.cath-bundle or NAME.cath-bundle.tar.zst')
    .option('--sign-with <file>', 'sign it with this Ed25519 private key (PEM)')
    .option('--rule <name=regex>', 'redact what matches; may be repeated', gathered)
    .option('--rule-file <file>', 'redact by the rules in this file (JSON); may be repeated', gathered)
    .option('--no-redact', 'redact nothing')
    .option('--from-snapshot [id]', 'runs: only what comes after a snapshot, the latest if none is named')
    .option('--level <n>', "zstd's level of compression, 1 to 22", wholeNumber)
    .option('--allow-damaged', 'of an archived session that is damaged, what is before the damage')
    .option(
      '--media-dir <dir>',
      'the store of the images to which a session refers (default: media beside its directory)',
    )
    .addOption(
      new Option('--media <how>', 'skip: go without images that are missing; drop: seal none').choices([
        'skip',
        'drop',
      ]),
    )
    .option('--json', 'the result as JSON')
    .addHelpText('after', EXPORT_EXAMPLES)
    .action(does(exportOne))
}

/** @type {(context: Context, args: [from: string, to: string], options: Exporting) => Promise<void>} */
async function exportOne(context, [from, to], options) {
  const { fromSnapshot, level, allowDamaged, mediaDir, media } = options
  const asked = {
    fromSnapshot: fromSnapshot === true ? 'latest' : fromSnapshot,
    level,
    allowDamaged,
    mediaDir,
    media,
    redact: options.redact && { rules: await redactionRules(options) },
    signWith: await signingKey(options.signWith),
  }
  const source = await recordingAt(context, from)
  const info = await withFiles(context, source, ({ at }) =>
    context.during('exporting', (more) => context.tape.exportBundle(at, to, { ...given(asked), ...more })),
  )
  await context.print(info, (_, colour) => page('Exported', printable(to, 1000), [infoRows(info, colour)], colour))
}

/** The options that are not undefined. @type {(options: ExportOptions) => ExportOptions} */
const given = (options) => Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

/** @type {DefineOne} */
function defineVerify(bundle, does) {
  const command = bundle
    .command('verify')
    .summary('whether a bundle is whole and unchanged')
    .description('Looks at everything in a bundle and lists every problem. Exit code 1 if there is one.')
    .argument('<path>', 'bundle')
  checkingOptions(command).addHelpText('after', VERIFY_EXAMPLES).action(does(verify))
}

/** @type {(context: Context, args: [string], options: CheckingOptions) => Promise<number>} */
async function verify(context, [path], options) {
  const found = await bundleVerification(context, await bundleAt(context, path), options)
  await context.print(found, (_, colour, width) => {
    const verdict = found.ok ? colour.green('sound') : colour.red('damaged')
    return page('A bundle', printable(path, 1000), [bundleRows(found, colour, width), [verdict]], colour)
  })
  return found.ok ? EXIT.fine : EXIT.damaged
}

/** @type {DefineOne} */
function defineImport(bundle, does) {
  const command = bundle
    .command('import')
    .summary('unpack a bundle that verifies')
    .description('Verifies a bundle and unpacks it into a directory, which must not exist.')
    .argument('<path>', 'bundle')
    .argument('<directory>', 'where to')
    .option(
      '--media-dir <dir>',
      'the store for the images to which the session refers (default: media beside the directory)',
    )
    .option(
      '--original <file>',
      "write the other program's session, from which the bundle was made, to this file, byte for byte",
    )
  checkingOptions(command).addHelpText('after', IMPORT_EXAMPLES).action(does(importOne))
}

/** @type {(context: Context, args: [string, string], options: CheckingOptions & { original?: string, mediaDir?: string }) => Promise<void>} */
async function importOne(context, [given, directory], options) {
  const asked = await verifyOptions(options)
  const { at } = await bundleAt(context, given)
  const { original, mediaDir } = options
  if (original !== undefined) await refuseRecording('--original', original, [given])
  const info = await context.during('importing', (more) =>
    context.tape.importBundle(at, directory, { ...asked, mediaDir, ...more }),
  )
  if (original !== undefined) await writeOriginal(given, directory, original)
  await context.print(info, (_, colour) =>
    page('Imported', printable(directory, 1000), [infoRows(info, colour)], colour),
  )
}

/** Copies the session from which a bundle was made. Nothing is replaced. @type {(given: string, directory: string, file: string) => Promise<void>} */
async function writeOriginal(given, directory, file) {
  try {
    await fs.copyFile(path.join(directory, 'source', 'original'), file, fs.constants.COPYFILE_EXCL)
  } catch (error) {
    const { code, message: reason, path: missing } = failureOf(error)
    const isMissing = code === 'ENOENT' && missing === path.join(directory, 'source', 'original')
    const message = isMissing ? `${printable(given, 1000)} does not have the session that it was made from` : reason
    throw new Complaint(isMissing ? 'NoOriginal' : code, message, { path: file })
  }
}

module.exports = { define }
