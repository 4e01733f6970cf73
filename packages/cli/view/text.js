'use strict'

// Prints a session as a conversation. Reads it twice, in bounded memory, because later records may remove the item of a record from the history.

const { usage } = require('../complaint.js')
const { jsonText } = require('../json-text.js')
const { duration, plural } = require('../quantities.js')
const { escaped, printable, shortened } = require('../safe-text.js')
const { isObject } = require('../session/values.js')
const { History } = require('../html/session/history.js')
const { EDITS, captionsOf, isFailure, itemsOf } = require('../html/view/session/items.js')
const { noteText, removalWord } = require('../html/view/session/note-text.js')
const { throughPager } = require('./pager.js')

/** The maximum number of lines of a result, and of characters of a text, that are shown. */
const RESULT_LINES = 12
const MAX_TEXT = 100_000

const SPEAKERS = { human: ['Human', 'blue'], ai: ['AI', 'magenta'], tool: ['Tool', 'green'] }

/** Prints it from a line on. */
async function printConversation(context, { kind, log }, from = 1) {
  if (kind === 'run') throw usage('--text: not for a run; trace --events lists its events')
  if (context.json) throw usage('--text and --json exclude each other')
  const removers = await removersIn(context, log)
  await throughPager(context, (output) => print(context, output, log, { removers, from }))
}

/** Maps the line of each item that was removed from the history to the record that removed it. */
async function removersIn({ tape, signal }, log) {
  const history = new History()
  const removers = new Map()
  for await (const read of tape.readSessionRecords(log, { changes: true, signal })) {
    for (const removed of history.take(read).removed) removers.set(removed, { line: read.line, type: read.record.type })
  }
  return removers
}

async function print({ tape, colour, signal, width }, output, log, { removers, from }) {
  const printer = new Printer(colour, Math.max(Math.min(width, 120), 40))
  for await (const read of tape.readSessionRecords(log, { changes: true, signal })) {
    if (output.isClosed) return
    // Earlier lines are read too: they say when a tool was called.
    const text = read.status === null ? '' : printer.text(read, removers.get(read.line))
    if (read.line >= from) await output.write(text)
  }
}

class Printer {
  #colour
  #width
  /** The times of calls, by id. */
  #calls = new Map()

  constructor(colour, width) {
    this.#colour = colour
    this.#width = width
  }

  text({ line, status, record, changes = [] }, remover) {
    if (!isObject(record)) return this.#row('✗', `line ${line}: ${record === null ? 'not JSON' : 'not a record'}`, 'red')
    const { type, payload, ts } = record
    const items = status === 'ok' ? itemsOf(type, payload) : []
    const shown = items.map(({ item, what }) => this.#item(line, item, ts, type === 'compressed' ? 'summary of what was compressed' : what, remover)).join('')
    if (EDITS.includes(type)) return changes.length === 0 ? this.#note(line, type, payload, ', without effect') : this.#note(line, type, payload) + shown
    if (items.length > 0) return shown
    return this.#note(line, type, payload, '', changes.reduce((sum, { removed }) => sum + removed, 0))
  }

  #item(line, item, ts, what, remover) {
    const blocks = Array.isArray(item.blocks) ? item.blocks : [item]
    return `\n${this.#head(line, item, ts, what, remover)}${blocks.map((block) => this.#block(block, Date.parse(ts))).join('')}`
  }

  #head(line, { speaker }, ts, what, remover) {
    const colour = this.#colour
    const [name, tone] = Object.hasOwn(SPEAKERS, speaker) ? SPEAKERS[speaker] : [printable(speaker, 40), 'white']
    const clock = typeof ts === 'string' && !Number.isNaN(Date.parse(ts)) ? `  ${new Date(ts).toISOString().slice(11, 19)}` : ''
    const about = what === '' ? '' : `  ${what}`
    const gone = remover ? `  not in the history: ${removalWord(remover.type)} at line ${remover.line}` : ''
    return `${colour.bold(colour[tone](name))}${colour.dim(`${clock}  line ${line}${about}${gone}`)}\n`
  }

  #block(block, at) {
    const colour = this.#colour
    if (!isObject(block)) return this.#lines(jsonText(block ?? null))
    if (block.type === 'tool_call') return this.#call(block, at)
    if (block.type === 'tool_response') return this.#response(block, at)
    if (block.type === 'media') return this.#media(block)
    const text = [block.text, block.thought, block.code].find((each) => typeof each === 'string')
    if (text === undefined) return this.#lines(jsonText(block))
    const language = block.type === 'code' && typeof block.language === 'string' && block.language !== '' ? this.#row('‹›', printable(block.language, 80), 'dim') : ''
    return language + (block.type === 'thinking' ? this.#lines(text, colour.dim) : this.#lines(text))
  }

  #media(block) {
    const captions = captionsOf(block).map((caption) => `, ${printable(caption, this.#width)}`)
    return this.#row('▣', `${printable(block.mimeType ?? 'media', 80)}${captions.join('')}, not shown`, 'dim')
  }

  #call({ id, name, parameters }, at) {
    this.#calls.set(id, at)
    return this.#row('→', `${this.#colour.bold(printable(name ?? '(unnamed)', 60))} ${this.#colour.dim(printable(parameters ?? '', this.#width))}`)
  }

  #response({ callId, toolName, result, error }, at) {
    const failed = isFailure(error)
    const ms = at - this.#calls.get(callId)
    this.#calls.delete(callId)
    const took = ms >= 0 ? this.#colour.dim(` ${duration(ms)}`) : ''
    const row = this.#row(failed ? '✗' : '✓', `${printable(toolName ?? '(unnamed)', 60)}${took}`, failed ? 'red' : 'green')
    if (!failed) return row + this.#shortened(outputIn(result))
    const reason = this.#shortened(typeof error === 'string' ? error : jsonText(error))
    // A command that fails may have said why.
    return row + reason + (result === undefined || result === null || result === '' ? '' : this.#shortened(outputIn(result)))
  }

  #shortened(text) {
    const lines = text.slice(0, MAX_TEXT).trimEnd().split(/\r?\n/)
    const rest = lines.length - RESULT_LINES
    const more = rest > 0 ? this.#colour.dim(`    … ${rest} more ${rest === 1 ? 'line' : 'lines'}\n`) : ''
    return lines.slice(0, RESULT_LINES).map((line) => `    ${this.#colour.dim(printableLine(line, this.#width))}\n`).join('') + more
  }

  #lines(text, tone = (each) => each) {
    const rest = text.length - MAX_TEXT
    const more = rest > 0 ? this.#colour.dim(`  … ${rest} more characters\n`) : ''
    return text.slice(0, MAX_TEXT).trimEnd().split(/\r?\n/).map((line) => `  ${tone(escapedLine(line))}\n`).join('') + more
  }

  #note(line, type, payload, more = '', gone = 0) {
    const about = type === 'rewind' ? `rewound: ${gone === 0 ? 'nothing' : plural(gone, 'item')} left the history` : this.#noteText(type, payload)
    return `\n${this.#colour.dim(`· ${about}${more}  line ${line}`)}\n`
  }

  #noteText(type, payload) {
    const briefly = (value) => printable(value ?? '', this.#width)
    const [name, text] = noteText(type, payload, briefly)
    return `${printable(name ?? '(no type)', 40)} ${briefly(text)}`.trimEnd()
  }

  #row(mark, text, tone = 'cyan') {
    return `  ${this.#colour[tone](mark)} ${text}\n`
  }
}

/** The text of a result: a string, or the only member if that is a string; otherwise JSON. */
function outputIn(result) {
  if (typeof result === 'string') return result
  const values = isObject(result) ? Object.values(result) : []
  return values.length === 1 && typeof values[0] === 'string' ? values[0] : jsonText(result ?? null)
}

const escapedLine = (line) => escaped(line.replaceAll('\t', '    '))

function printableLine(line, width) {
  return shortened(escapedLine(line.slice(0, width * 2)), width)
}

module.exports = { printConversation }
