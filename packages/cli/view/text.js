'use strict'

// Prints a session as a conversation. Reads it twice, in bounded memory, because later records may remove the item of a record from the history.

const { usage } = require('../complaint.js')
const { jsonText } = require('../json-text.js')
const { duration, plural } = require('../quantities.js')
const { escaped, printable, shortened } = require('../safe-text.js')
const { isObject } = require('../session/values.js')
const { History } = require('../html/session/history.js')
const { EDITS, captionsOf, isFailure, itemsOf } = require('../html/session/items.js')
const { noteText, removalWord } = require('../html/session/note-text.js')
const { throughPager } = require('./pager.js')

/** @import { SessionEventType, SessionLine, SessionRecordLine } from 'session-tape' */
/** @import { Colours } from '../colours.js' */
/** @import { Shown } from '../commands/view.js' */
/** @import { Context } from '../context.js' */

/** @typedef {Record<string, unknown>} Block */
/** @typedef {Block & { speaker: string }} Item */
/** @typedef {{ line: number, type: SessionEventType }} Remover the record that removed an item from the history */

/** The maximum number of lines of a result, and of characters of a text, that are shown. */
const RESULT_LINES = 12
const MAX_TEXT = 100_000

/** @type {Record<string, [name: string, tone: 'blue' | 'magenta' | 'green']>} */
const SPEAKERS = { human: ['Human', 'blue'], ai: ['AI', 'magenta'], tool: ['Tool', 'green'] }

/**
 * Prints it from a line on.
 *
 * @param {Context} context
 * @param {Shown} recording
 * @param {number} [from]
 */
async function printConversation(context, { kind, log }, from = 1) {
  if (kind === 'run') throw usage('--text: not for a run; trace --events lists its events')
  if (context.json) throw usage('--text and --json exclude each other')
  const removers = await removersIn(context, log)
  await throughPager(context, (output) => print(context, output, log, { removers, from }))
}

/**
 * Maps the line of each item that was removed from the history to the record that removed it.
 *
 * @type {(context: Context, log: string) => Promise<Map<number, Remover>>}
 */
async function removersIn({ tape, signal }, log) {
  const history = new History()
  /** @type {Map<number, Remover>} */
  const removers = new Map()
  for await (const read of tape.readSessionRecords(log, { changes: true, signal })) {
    for (const removed of history.take(read).removed)
      removers.set(removed, { line: read.line, type: /** @type {SessionRecordLine} */ (read.record).type })
  }
  return removers
}

/**
 * @param {Context} context
 * @param {InstanceType<typeof import('../output.js').Output>} output
 * @param {string} log
 * @param {{ removers: Map<number, Remover>, from: number }} shown
 */
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
  /** The times of calls, by id. @type {Map<unknown, number>} */
  #calls = new Map()

  /** @param {Colours} colour @param {number} width */
  constructor(colour, width) {
    this.#colour = colour
    this.#width = width
  }

  /** @type {(read: SessionLine, remover: Remover | undefined) => string} */
  text({ line, status, record, warning, changes = [] }, remover) {
    if (!isObject(record))
      return this.#row('✗', `line ${line}: ${warning ?? (record === null ? 'not JSON' : 'not a record')}`, 'red')
    const { type, payload, ts } = record
    const items = status === 'ok' ? itemsOf(type, payload) : []
    const shown = items
      .map(({ item, what }) =>
        this.#item(
          line,
          /** @type {Item} */ (item),
          ts,
          type === 'compressed' ? 'summary of what was compressed' : what,
          remover,
        ),
      )
      .join('')
    if (EDITS.includes(type))
      return changes.length === 0
        ? this.#note(line, type, payload, ', without effect')
        : this.#note(line, type, payload) + shown
    if (items.length > 0) return shown
    return this.#note(
      line,
      type,
      payload,
      '',
      changes.reduce((sum, { removed }) => sum + removed, 0),
    )
  }

  /** @type {(line: number, item: Item, ts: unknown, what: string, remover: Remover | undefined) => string} */
  #item(line, item, ts, what, remover) {
    const blocks = Array.isArray(item.blocks) ? item.blocks : [item]
    const at = typeof ts === 'string' ? Date.parse(ts) : NaN
    return `\n${this.#head(line, item, ts, what, remover)}${blocks.map((block) => this.#block(block, at)).join('')}`
  }

  /** @type {(line: number, item: Item, ts: unknown, what: string, remover: Remover | undefined) => string} */
  #head(line, { speaker }, ts, what, remover) {
    const colour = this.#colour
    /** @type {[name: string, tone: 'blue' | 'magenta' | 'green' | 'white']} */
    const [name, tone] = Object.hasOwn(SPEAKERS, speaker) ? SPEAKERS[speaker] : [printable(speaker, 40), 'white']
    const clock =
      typeof ts === 'string' && !Number.isNaN(Date.parse(ts)) ? `  ${new Date(ts).toISOString().slice(11, 19)}` : ''
    const about = what === '' ? '' : `  ${what}`
    const gone = remover ? `  not in the history: ${removalWord(remover.type)} at line ${remover.line}` : ''
    return `${colour.bold(colour[tone](name))}${colour.dim(`${clock}  line ${line}${about}${gone}`)}\n`
  }

  /** @type {(block: unknown, at: number) => string} */
  #block(block, at) {
    const colour = this.#colour
    if (!isObject(block)) return this.#lines(jsonText(block ?? null))
    if (block.type === 'tool_call') return this.#call(block, at)
    if (block.type === 'tool_response') return this.#response(block, at)
    if (block.type === 'media') return this.#media(block)
    const text = [block.text, block.thought, block.code].find((each) => typeof each === 'string')
    if (text === undefined) return this.#lines(jsonText(block))
    const language =
      block.type === 'code' && typeof block.language === 'string' && block.language !== ''
        ? this.#row('‹›', printable(block.language, 80), 'dim')
        : ''
    return language + (block.type === 'thinking' ? this.#lines(text, colour.dim) : this.#lines(text))
  }

  /** @param {Block} block */
  #media(block) {
    const captions = captionsOf(block).map((caption) => `, ${printable(caption, this.#width)}`)
    return this.#row('▣', `${printable(block.mimeType ?? 'media', 80)}${captions.join('')}, not shown`, 'dim')
  }

  /** @type {(block: Block, at: number) => string} */
  #call({ id, name, parameters }, at) {
    this.#calls.set(id, at)
    return this.#row(
      '→',
      `${this.#colour.bold(printable(name ?? '(unnamed)', 60))} ${this.#colour.dim(printable(parameters ?? '', this.#width))}`,
    )
  }

  /** @type {(block: Block, at: number) => string} */
  #response({ callId, toolName, result, error }, at) {
    const failed = isFailure(error)
    const ms = at - /** @type {number} */ (this.#calls.get(callId))
    this.#calls.delete(callId)
    const took = ms >= 0 ? this.#colour.dim(` ${duration(ms)}`) : ''
    const row = this.#row(
      failed ? '✗' : '✓',
      `${printable(toolName ?? '(unnamed)', 60)}${took}`,
      failed ? 'red' : 'green',
    )
    if (!failed) return row + this.#shortened(outputIn(result))
    const reason = this.#shortened(typeof error === 'string' ? error : jsonText(error))
    // A command that fails may have said why.
    return (
      row + reason + (result === undefined || result === null || result === '' ? '' : this.#shortened(outputIn(result)))
    )
  }

  /** @param {string} text */
  #shortened(text) {
    const lines = text.slice(0, MAX_TEXT).trimEnd().split(/\r?\n/)
    const rest = lines.length - RESULT_LINES
    const more = rest > 0 ? this.#colour.dim(`    … ${rest} more ${rest === 1 ? 'line' : 'lines'}\n`) : ''
    return (
      lines
        .slice(0, RESULT_LINES)
        .map((line) => `    ${this.#colour.dim(printableLine(line, this.#width))}\n`)
        .join('') + more
    )
  }

  /** @param {string} text @param {(text: string) => string} [tone] */
  #lines(text, tone = (each) => each) {
    const rest = text.length - MAX_TEXT
    const more = rest > 0 ? this.#colour.dim(`  … ${rest} more characters\n`) : ''
    return (
      text
        .slice(0, MAX_TEXT)
        .trimEnd()
        .split(/\r?\n/)
        .map((line) => `  ${tone(escapedLine(line))}\n`)
        .join('') + more
    )
  }

  /** @type {(line: number, type: unknown, payload: unknown, more?: string, gone?: number) => string} */
  #note(line, type, payload, more = '', gone = 0) {
    const about =
      type === 'rewind'
        ? `rewound: ${gone === 0 ? 'nothing' : plural(gone, 'item')} left the history`
        : this.#noteText(type, payload)
    return `\n${this.#colour.dim(`· ${about}${more}  line ${line}`)}\n`
  }

  /** @type {(type: unknown, payload: unknown) => string} */
  #noteText(type, payload) {
    /** @type {(value: unknown) => string} */
    const briefly = (value) => printable(value ?? '', this.#width)
    const [name, text] = typeof type === 'string' ? noteText(type, payload, briefly) : [type, payload]
    return `${printable(name ?? '(no type)', 40)} ${briefly(text)}`.trimEnd()
  }

  /** @type {(mark: string, text: string, tone?: 'cyan' | 'dim' | 'green' | 'red') => string} */
  #row(mark, text, tone = 'cyan') {
    return `  ${this.#colour[tone](mark)} ${text}\n`
  }
}

/** The text of a result: a string, or the only member if that is a string; otherwise JSON. @type {(result: unknown) => string} */
function outputIn(result) {
  if (typeof result === 'string') return result
  const values = isObject(result) ? Object.values(result) : []
  return values.length === 1 && typeof values[0] === 'string' ? values[0] : jsonText(result ?? null)
}

/** @type {(line: string) => string} */
const escapedLine = (line) => escaped(line.replaceAll('\t', '    '))

/** @type {(line: string, width: number) => string} */
function printableLine(line, width) {
  return shortened(escapedLine(line.slice(0, width * 2)), width)
}

module.exports = { printConversation }
