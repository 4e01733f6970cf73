'use strict'

const { quoted } = require('./quoted.js')

/** @import { Flag, Grammar, Value } from './grammar.js' */

/** @param {Grammar[]} grammar */
function zshScript(grammar) {
  return `${grammar.map(functionOf).join('\n')}
# Sourced, the function is registered; from a directory of $fpath it is this file, and called.
if [[ $funcstack[1] == _session-tape ]]; then
  _session-tape "$@"
else
  compdef _session-tape session-tape
fi
`
}

/** @param {Grammar} command */
function functionOf({ path, subcommands, options, values }) {
  const specs = [
    ...options.map(optionSpec),
    ...(subcommands.length > 0 ? ["'1: :->command'", "'*:: :->arguments'"] : values.map(valueSpec)),
  ]
  const call = `_arguments -S${subcommands.length > 0 ? ' -C' : ''}${specs.map((spec) => ` \\\n    ${spec}`).join('')}`
  return subcommands.length > 0 ? branching(path, subcommands, call) : `${nameOf(path)}() {\n  ${call}\n}\n`
}

/** @type {(path: string[], subcommands: Grammar['subcommands'], call: string) => string} */
function branching(path, subcommands, call) {
  const described = subcommands.map(({ name, summary }) => `      ${quoted(`${name}:${escaped(summary)}`)}\n`)
  const cases = subcommands.map(({ name }) => `        ${name}) ${nameOf([...path, name])} && ret=0 ;;\n`)
  return `${nameOf(path)}() {
  local curcontext=$curcontext context state state_descr line ret=1
  local -A opt_args
  local -a commands
  ${call} && ret=0
  case $state in
    command)
      commands=(
${described.join('')}      )
      _describe -t commands command commands && ret=0
      ;;
    arguments)
      curcontext=\${curcontext%:*}-$words[1]:
      case $words[1] in
${cases.join('')}      esac
      ;;
  esac
  return ret
}
`
}

/** @param {Flag} option */
function optionSpec({ flags, summary, value, isRepeatable }) {
  const excluded = isRepeatable ? '*' : flags.length > 1 ? `(${flags.join(' ')})` : ''
  const rest = `[${escaped(summary)}]${value === null ? '' : `${value.isOptional ? '::' : ':'}${escaped(value.name)}:${action(value)}`}`
  const names = flags.map((flag) => (value !== null && flag.startsWith('--') ? `${flag}=` : flag))
  if (names.length === 1) return quoted(`${excluded}${names[0]}${rest}`)
  return `${quoted(excluded)}{${names.join(',')}}${quoted(rest)}`
}

/** @param {Value} value */
function valueSpec(value) {
  const { name, isOptional, isVariadic } = value
  return quoted(`${isVariadic ? '*' : ''}:${isOptional && !isVariadic ? ':' : ''}${escaped(name)}:${action(value)}`)
}

/** @param {Value} value */
function action({ kind, choices }) {
  if (kind === 'choice') return `(${choices.join(' ')})`
  // A blank offers nothing, but shows the name of the value.
  return { file: '_files', directory: '_files -/', text: ' ' }[kind]
}

/** @param {string[]} path */
const nameOf = (path) => ['_session-tape', ...path].join('-')

/** @param {string} text */
const escaped = (text) => text.replace(/[\\[\]:]/g, '\\$&')

module.exports = { zshScript }
