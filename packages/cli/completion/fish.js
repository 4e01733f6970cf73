'use strict'

/** @import { Flag, Grammar, Value } from './grammar.js' */

const FUNCTIONS = `
# Whether a command was typed, with a number of arguments before the current one.
function __session_tape_at
  set -l words (commandline -opc)
  set -l at ''
  set -l taken 0
  set -l value ''
  set -l only ''
  for word in $words[2..-1]
    if test "$value" = required; or begin; test "$value" = optional; and not string match -q -- '-?*' $word; end
      set value ''
    else if test -n "$only"; or not string match -q -- '-?*' $word
      set value ''
      if test $taken -eq 0; and contains -- $word (__session_tape_subcommands $at)
        set at (string trim -- "$at $word")
      else
        set taken (math $taken + 1)
      end
    else if test $word = --
      set value ''
      set only 1
    else
      set value (__session_tape_option $at $word)
    end
  end
  test "$at" = "$argv[1]"; or return 1
  switch $argv[2]
    case options
      test -z "$only"
    case '*+'
      test $taken -ge (string trim -c + -- $argv[2])
    case '*'
      test $taken -eq $argv[2]
  end
end
`

/** @param {Grammar[]} grammar */
function fishScript(grammar) {
  return `# The commands below a command.
function __session_tape_subcommands
  switch $argv[1]
${grammar
  .filter(({ subcommands }) => subcommands.length > 0)
  .map(subcommandsCase)
  .join('')}  end
end

# Whether an option takes a value.
function __session_tape_option
  switch "$argv"
${grammar.flatMap(({ path, options }) => options.filter(({ value }) => value !== null).map((option) => optionCase(path, option))).join('')}  end
end
${FUNCTIONS}
complete -c session-tape -e
complete -c session-tape -f
${grammar.flatMap(completions).join('\n')}
`
}

/** @param {Grammar} command */
const subcommandsCase = ({ path, subcommands }) =>
  `    case ${quoted(path.join(' '))}\n      printf '%s\\n' ${subcommands.map(({ name }) => name).join(' ')}\n`

/** Of an option with a value. @type {(path: string[], option: Flag) => string} */
const optionCase = (path, { flags, value }) =>
  `    case ${flags.map((flag) => quoted([...path, flag].join(' '))).join(' ')}\n      echo ${/** @type {Value} */ (value).isOptional ? 'optional' : 'required'}\n`

/** @param {Grammar} command */
function completions({ path, subcommands, options, values }) {
  return [
    '',
    ...subcommands.map(({ name, summary }) => `${at(path, '0')} -a ${name} -d ${quoted(summary)}`),
    ...options.map((option) => `${at(path, 'options')} ${optionWords(option)} -d ${quoted(option.summary)}`),
    ...values.map((value, i) => `${at(path, value.isVariadic ? `${i}+` : String(i))} ${offered(value)}`),
  ].filter((line) => !line.endsWith(' '))
}

/** @type {(path: string[], place: string) => string} */
const at = (path, place) =>
  `complete -c session-tape -n ${quoted(`__session_tape_at ${quoted(path.join(' '))} ${place}`)}`

/** @param {Flag} option */
function optionWords({ flags, value }) {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
  // fish does not support options whose value may be omitted. Such a value is free text here, so nothing is offered for it.
  const takes = value === null || value.isOptional ? [] : ['-r', offered(value)]
  return [...names, ...takes].filter(Boolean).join(' ')
}

/** @param {Value} value */
function offered({ kind, choices }) {
  if (kind === 'choice') return `-f -a ${quoted(choices.join(' '))}`
  return { file: '-F', directory: "-f -a '(__fish_complete_directories)'", text: '-f' }[kind]
}

/** @param {string} text */
const quoted = (text) => `'${text.replace(/[\\']/g, '\\$&')}'`

module.exports = { fishScript }
