'use strict'

const { Argument } = require('commander')
const { bashScript } = require('../completion/bash.js')
const { fishScript } = require('../completion/fish.js')
const { grammarOf } = require('../completion/grammar.js')
const { zshScript } = require('../completion/zsh.js')

/** @import { Command } from 'commander' */
/** @import { Context } from '../context.js' */
/** @import { Define } from '../program.js' */

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript }

const EXAMPLES = `
Examples:
  session-tape completion bash > ~/.local/share/bash-completion/completions/session-tape
  session-tape completion zsh > ~/.zfunc/_session-tape      # a directory of $fpath
  session-tape completion fish > ~/.config/fish/completions/session-tape.fish

Or in a shell's startup file: source <(session-tape completion bash)
`

/** @type {Define} */
function define(program, does) {
  program
    .command('completion')
    .summary('a script that completes commands in a shell')
    .description(
      'Prints a script with which a shell completes the commands, options and files that this program takes.',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', EXAMPLES)
    .action(does((context, /** @type {[keyof typeof SCRIPTS]} */ [shell]) => print(context, program, shell)))
}

/** @type {(context: Context, program: Command, shell: keyof typeof SCRIPTS) => Promise<void>} */
async function print({ output }, program, shell) {
  const about = `${shell} completion of session-tape ${program.version()}, printed by: session-tape completion ${shell}`
  const head = shell === 'zsh' ? `#compdef session-tape\n# ${about}\n` : `# ${about}\n`
  await output.write(`${head}\n${SCRIPTS[shell](grammarOf(program))}`)
  await output.flush()
}

module.exports = { define }
