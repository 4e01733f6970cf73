'use strict'

const { quoted } = require('./quoted.js')

/** @import { Flag, Grammar, Value } from './grammar.js' */

// The script also runs in bash 3.2, which macOS ships. It has no `compopt`, so there files are offered for any value.

const SCRIPT = `
_session_tape() {
  local subcommands options values variadic value='' optional='' prefix=''
  local i joins='' only='' at='' taken=0 word words=()

  # Readline cuts words at "=" and ":".
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ ( $joins || $word =~ ^[=:]+$ ) && \${#words[@]} -gt 0 ]]; then
      words[\${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    [[ $word =~ ^[=:]+$ ]] && joins=1 || joins=''
  done

  _session_tape_command ''
  for ((i = 0; i < \${#words[@]} - 1; i++)); do
    word=\${words[i]}
    if [[ $value && ! ( $optional && $word == -?* ) ]]; then
      value=''
    elif [[ $only || $word != -?* ]]; then
      value=''
      if [[ $taken -eq 0 && " $subcommands " == *" $word "* ]]; then
        at=\${at:+$at }$word
        _session_tape_command "$at"
      else
        taken=$((taken + 1))
      fi
    elif [[ $word == -- ]]; then
      value='' only=1
    else
      _session_tape_option "$at" "$word"
    fi
  done

  word=\${words[\${#words[@]} - 1]}
  if [[ ! $only && ! $value && $word == --*=* ]]; then
    _session_tape_option "$at" "\${word%%=*}"
    value=\${value:-@text}
    [[ $COMP_WORDBREAKS == *=* ]] || prefix=\${word%%=*}=
    word=\${word#*=}
  elif [[ ! $value || ( $optional && $word == -* ) ]]; then
    if [[ ! $only && $word == -* ]]; then
      value=$options
    elif [[ $subcommands && $taken -eq 0 ]]; then
      value=$subcommands
    elif [[ $taken -lt \${#values[@]} ]]; then
      value=\${values[taken]}
    elif [[ $variadic ]]; then
      value=\${values[\${#values[@]} - 1]}
    else
      value=\${only:+@text}
      value=\${value:-$options}
    fi
  fi

  COMPREPLY=()
  case $value in
    @file) return ;; # readline's own, which know how to quote a name
    @directory) compopt -o dirnames +o default 2>/dev/null ;;
    @text) compopt +o default 2>/dev/null ;;
    *)
      COMPREPLY=($(compgen -P "$prefix" -W "$value" -- "$word"))
      compopt +o default 2>/dev/null
      ;;
  esac
}

complete -o default -F _session_tape session-tape
`

/** @param {Grammar[]} grammar */
function bashScript(grammar) {
  return `# What each command takes: files (@file), directories (@directory), anything (@text), or one of some words.
_session_tape_command() {
  subcommands='' options='' values=() variadic=''
  case $1 in
${grammar.map(commandCase).join('')}  esac
}

# The value of an option, if it has one.
_session_tape_option() {
  value='' optional=''
  case "$1 \${2%%=*}" in
${grammar.flatMap(({ path, options }) => options.map((option) => optionCase(path, option))).join('')}  esac
  [[ $2 != *=* ]] || value=''
}
${SCRIPT}`
}

/** @param {Grammar} command */
function commandCase({ path, subcommands, options, values }) {
  const sets = [
    subcommands.length > 0 && `subcommands=${quoted(subcommands.map(({ name }) => name).join(' '))}`,
    options.length > 0 && `options=${quoted(options.flatMap(({ flags }) => flags).join(' '))}`,
    values.length > 0 && `values=(${values.map(({ kind, choices }) => quoted(wordsOf(kind, choices))).join(' ')})`,
    values.some(({ isVariadic }) => isVariadic) && 'variadic=1',
  ]
  return `    ${quoted(path.join(' '))}) ${sets.filter(Boolean).join(' ')} ;;\n`
}

/** @param {string[]} path @param {Flag} option */
function optionCase(path, { flags, value }) {
  if (value === null) return ''
  const { kind, choices, isOptional } = value
  const patterns = flags.map((flag) => quoted([...path, flag].join(' '))).join(' | ')
  return `    ${patterns}) value=${quoted(wordsOf(kind, choices))}${isOptional ? ' optional=1' : ''} ;;\n`
}

/** @type {(kind: Value['kind'], choices: string[]) => string} */
const wordsOf = (kind, choices) => (kind === 'choice' ? choices.join(' ') : `@${kind}`)

module.exports = { bashScript }
