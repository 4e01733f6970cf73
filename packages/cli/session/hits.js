'use strict'

// Formats the hits of a search.

const { moment } = require('../quantities.js')
const { escaped, printable } = require('../safe-text.js')

/** @import { SessionHit } from 'session-tape' */
/** @import { Colours } from '../colours.js' */
/** @import { Context } from '../context.js' */

/** The width of the line numbers and of the speakers. */
const NUMBER = 6
const SPEAKER = 6

class HitPrinter {
  #context
  #isTerminal
  /** The file of the hit before. @type {string | undefined} */
  #path

  /** @param {Context} context */
  constructor(context) {
    this.#context = context
    this.#isTerminal = context.stdout.isTTY === true
  }

  /** A path, escaped only for people: programs open it. @param {string} path */
  path(path) {
    return `${this.#shown(path)}\n`
  }

  /** @type {(path: string, number: number) => string} */
  count(path, number) {
    return `${this.#shown(path)}:${number}\n`
  }

  /** @param {string} path */
  #shown(path) {
    return this.#isTerminal ? printable(path, 1000) : path
  }

  /** A hit: on a terminal a row below the heading of its session, otherwise a line of its own. @param {SessionHit} hit */
  async hit(hit) {
    const text = markedSnippet(hit, this.#context.colour)
    if (!this.#isTerminal) return `${printable(hit.filePath, 1000)}:${hit.line}:${text}\n`
    const heading = hit.filePath === this.#path ? '' : await this.#heading(hit)
    this.#path = hit.filePath
    const { colour } = this.#context
    const number = colour.green(String(hit.line).padStart(NUMBER))
    const speaker = colour.dim((hit.speaker ?? '·').padEnd(SPEAKER))
    const gone = hit.inHistory === false ? colour.dim('  (not in the history)') : ''
    return `${heading}${number}  ${speaker} ${text}${gone}\n`
  }

  /** What the session is called or how it begins, its id, when it began, and its path. @param {SessionHit} hit */
  async #heading({ filePath, sessionId }) {
    const { colour, width } = this.#context
    const isFirst = this.#path === undefined
    const called = await this.#called(filePath)
    const began = moment((await this.#context.tape.readSessionHeader(filePath))?.startTime) ?? 'no time'
    const about = [
      sessionId === null ? 'no session' : printable(sessionId, 100),
      began,
      printable(filePath, 1000),
    ].join(colour.dim(' · '))
    return `${isFirst ? '' : '\n'}${colour.bold(printable(called, Math.max(20, width - 2)))}\n${about}\n`
  }

  /** @param {string} filePath */
  async #called(filePath) {
    const { tape, signal } = this.#context
    const { title, name } = await namesOf(tape, filePath, signal)
    return (
      title || name || (await tape.readSessionPreview(filePath, { signal })).firstUserMessage || '(nothing by the user)'
    )
  }
}

/**
 * The title and the name of a session. One that does not replay may have a title; its hits are shown all the same.
 *
 * @type {(tape: Context['tape'], filePath: string, signal: AbortSignal) => Promise<{ title?: string | null, name?: string | null }>}
 */
async function namesOf(tape, filePath, signal) {
  const opened = await tape.openSession(filePath, undefined, { signal })
  if (!opened.ok) return { title: await tape.readSessionTitle(filePath, { signal }), name: undefined }
  const { metadata, sessionName: name } = opened.session
  opened.session.close()
  return { title: metadata.title, name }
}

/** A snippet on one line, with its matches in colour. @type {(hit: SessionHit, colour: Colours) => string} */
function markedSnippet({ snippet, ranges }, colour) {
  let text = ''
  let at = 0
  for (const [start, end] of ranges) {
    text += onOneLine(snippet.slice(at, start)) + colour.bold(colour.red(onOneLine(snippet.slice(start, end))))
    at = end
  }
  return text + onOneLine(snippet.slice(at))
}

/** @type {(text: string) => string} */
const onOneLine = (text) =>
  text
    .split(/\r\n|\n/)
    .map(escaped)
    .join('⏎')

module.exports = { HitPrinter }
