'use strict'

// What can be typed after `session-tape`, derived from the program itself. The scripts of all shells are generated from this.

const { collected, gathered } = require('../option-values.js')

/** @import { Command, Option } from 'commander' */

/** The kinds of values that the names of arguments and of options' values stand for. Any other name is free text. */
/** @type {Map<string, Value['kind']>} */
const KINDS = new Map(
  /** @type {[string, Value['kind']][]} */ ([
    ...['path', 'left', 'right', 'src', 'dest', 'file'].map((name) => [name, 'file']),
    ...['directory', 'dir'].map((name) => [name, 'directory']),
  ]),
)

/**
 * @typedef {{ name: string, kind: 'file' | 'directory' | 'choice' | 'text', choices: string[], isOptional: boolean, isVariadic: boolean }} Value
 * @typedef {{ flags: string[], summary: string, value: Value | null, isRepeatable: boolean }} Flag
 * @typedef {{ path: string[], subcommands: { name: string, summary: string }[], options: Flag[], values: Value[] }} Grammar
 */

/**
 * Returns the program and all of its commands, each after its parent.
 *
 * @param {Command} command
 * @param {string[]} path
 * @returns {Grammar[]}
 */
function grammarOf(command, path = []) {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const own = {
    path,
    subcommands: commands.map((one) => ({ name: one.name(), summary: help.subcommandDescription(one) })),
    options: help.visibleOptions(command).map(flagOf),
    values: command.registeredArguments.map((value) => valueOf(value.name(), value)),
  }
  return [
    own,
    ...commands.flatMap((one) =>
      one.name() === 'help' ? helpOn(commands, path) : grammarOf(one, [...path, one.name()]),
    ),
  ]
}

/** The command that shows help on another. Commander does not describe its argument. @type {(commands: Command[], path: string[]) => Grammar[]} */
function helpOn(commands, path) {
  const choices = commands.map((one) => one.name()).filter((name) => name !== 'help')
  /** @type {Value} */
  const value = { name: 'command', kind: 'choice', choices, isOptional: true, isVariadic: false }
  return [{ path: [...path, 'help'], subcommands: [], options: [], values: [value] }]
}

/** @type {(option: Option) => Flag} */
function flagOf(option) {
  const name = /[<[]([^>\]]*)[>\]]/.exec(option.flags)?.[1]
  return {
    flags: /** @type {string[]} */ ([option.short, option.long].filter(Boolean)),
    summary: option.description,
    value: name === undefined ? null : valueOf(name, option),
    isRepeatable: /** @type {unknown[]} */ ([collected, gathered]).includes(option.parseArg),
  }
}

/**
 * @param {string} name
 * @param {{ argChoices?: string[], required: boolean, variadic: boolean }} given
 * @returns {Value}
 */
function valueOf(name, { argChoices, required, variadic }) {
  const kind = argChoices ? 'choice' : (KINDS.get(name) ?? 'text')
  return { name, kind, choices: argChoices ?? [], isOptional: !required, isVariadic: variadic }
}

module.exports = { grammarOf }
