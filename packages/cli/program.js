'use strict'

const { Command, CommanderError } = require('commander')
const { version } = require('./package.json')
const { coloursFor } = require('./colours.js')
const { EXIT, complaintOf, usage } = require('./complaint.js')
const { Context } = require('./context.js')
const { Interruption, watchInterruptions } = require('./interruption.js')
const { jsonText } = require('./json-text.js')
const { escapedLines } = require('./safe-text.js')

/** @import { BundleProblem } from 'session-tape' */
/** @import { Surroundings } from './context.js' */

/**
 * Runs a command. `args` are the values of its arguments; it resolves to the exit code, or to nothing if all is fine.
 *
 * @template {unknown[]} Args
 * @template Options
 * @typedef {(context: Context, args: Args, options: Options) => Promise<number | void>} Run
 */

/**
 * Makes an action for commander. `Define` adds the commands of a module to the program.
 *
 * @typedef {<Args extends unknown[], Options>(run: Run<Args, Options>) => (...given: unknown[]) => Promise<void>} Does
 * @typedef {(program: Command, does: Does) => void} Define
 */

/** @type {{ define: Define }[]} */
const COMMANDS = [
  require('./commands/inspect.js'),
  require('./commands/replay.js'),
  require('./commands/verify.js'),
  require('./commands/trace.js'),
  require('./commands/diff.js'),
  require('./commands/view.js'),
  require('./commands/bundle.js'),
  require('./commands/export.js'),
  require('./commands/header.js'),
  require('./commands/import.js'),
  require('./commands/receipt.js'),
  require('./commands/sessions.js'),
  require('./commands/search.js'),
  require('./commands/repair.js'),
  require('./commands/keep.js'),
  require('./commands/archive.js'),
  require('./commands/completion.js'),
]

const EPILOGUE = `
PATH is a session file, the directory of a run, or a bundle of either: a directory or a .tar.zst file. Sessions of other programs are read
as sessions too; PATH#CONVERSATION chooses one of several conversations in a file.

Exit codes:
  0    fine; for diff: nothing that matters differs
  1    damaged; for diff: they differ; for search: nothing found
  2    it could not be done: wrong usage, no such file, not permitted …
  130  interrupted

With --json a result is one line of JSON on standard output. An error is one on standard error,
{"error":{"code","message",…}}, and standard output stays empty.

Colours: none in a pipe. NO_COLOR=1 switches them off, FORCE_COLOR=1 on.
`

/**
 * Runs the program, by default with the streams and environment of this process. Resolves to its exit code and never rejects.
 *
 * @param {string[]} args
 * @param {Omit<Surroundings, 'signal'>} [process]
 */
async function main(args, { stdout, stderr, env } = process) {
  const interruptions = watchInterruptions()
  const context = new Context({ stdout, stderr, env, signal: interruptions.signal })
  try {
    await programFor(context, args).parseAsync(args, { from: 'user' })
    return context.exitCode
  } catch (error) {
    return ended(error, context)
  } finally {
    interruptions.stop()
  }
}

/** @type {(context: Context, args: string[]) => Command} */
function programFor(context, args) {
  const program = new Command('session-tape')
    .description('The flight recorder of AI command-line tools: looks into what was recorded.')
    .version(version)
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help of a command')
    .addHelpText('after', EPILOGUE)
    .exitOverride()
    .configureHelp({ helpWidth: 100, sortSubcommands: false })
    // Commander's errors are printed by `ended`. Its own output is only the help that it shows for a missing command.
    .configureOutput({
      outputError: () => {},
      writeErr: (text) => (context.missingCommand += text),
      writeOut: (text) => context.stdout.write(text),
    })
    .showSuggestionAfterError()
  // Determined before parsing, because errors in the arguments are printed in the same format.
  context.json = args.includes('--json')
  /** @type {Does} */
  const does =
    (run) =>
    async (...given) => {
      // Commander passes the arguments, then the options and the command.
      const options = /** @type {Parameters<typeof run>[2] & { json?: boolean }} */ (given.at(-2))
      context.json = options.json === true
      context.exitCode =
        (await run(context, /** @type {Parameters<typeof run>[1]} */ (given.slice(0, -2)), options)) ?? EXIT.fine
    }
  for (const command of COMMANDS) command.define(program, does)
  return program
}

/** Prints the error that ended the program, and returns the exit code. @type {(error: unknown, context: Context) => number} */
function ended(error, context) {
  if (error instanceof Interruption) return error.exitCode
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.fine
    const { missingCommand } = context
    return tell(
      usage(
        missingCommand !== '' ? `which command?\n\n${missingCommand.trimEnd()}` : error.message.replace(/^error: /, ''),
      ),
      context,
    )
  }
  return tell(complaintOf(error), context)
}

/** @type {(complaint: ReturnType<typeof complaintOf>, context: Context) => number} */
function tell({ code, message, exitCode, fields }, { json, stderr, env }) {
  const text = json
    ? jsonText({ error: { code, message, ...fields } })
    : `${coloursFor(stderr, env).red('session-tape:')} ${escapedLines(withProblems(message, fields.problems))}`
  stderr.write(`${text}\n`)
  return exitCode
}

/** Shows as many problems as fit on a screen. @type {(message: string, problems?: BundleProblem[]) => string} */
function withProblems(message, problems = []) {
  const shown = problems.slice(0, 20).map(({ code, message: problem }) => `\n  ${code}: ${problem}`)
  if (problems.length > shown.length) shown.push(`\n  … and ${problems.length - shown.length} more`)
  return `${message}${shown.join('')}`
}

module.exports = { main }
