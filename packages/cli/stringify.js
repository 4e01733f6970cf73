'use strict'

/**
 * The JSON text of a value from `JSON.parse`, without recursion: `JSON.stringify` overflows the stack for values that are nested some
 * thousand levels deep, which a file may contain. As there, that of undefined is undefined.
 *
 * @param {unknown} value
 */
function stringified(value) {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return [...pieces(value)].join('')
  }
}

/** Yields the pieces of the text. Values that are still to be written are on an explicit stack. @param {unknown} root */
function* pieces(root) {
  const pending = [root]
  while (pending.length > 0) {
    const next = pending.pop()
    if (next instanceof Piece) yield next.text
    else if (Array.isArray(next))
      push(
        pending,
        '[',
        ']',
        next.map((item) => [item]),
      )
    else if (typeof next === 'object' && next !== null) push(pending, '{', '}', membersOf(next))
    else yield JSON.stringify(next) ?? 'null'
  }
}

class Piece {
  /** @param {string} text */
  constructor(text) {
    this.text = text
  }
}

/** @type {(object: {}) => unknown[][]} */
const membersOf = (object) =>
  Object.entries(object)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [new Piece(`${JSON.stringify(key)}:`), value])

/**
 * Pushes in reverse order, because the stack is last in, first out.
 *
 * @type {(pending: unknown[], open: string, close: string, parts: unknown[][]) => void}
 */
function push(pending, open, close, parts) {
  pending.push(new Piece(close))
  for (let i = parts.length - 1; i >= 0; i--) {
    pending.push(...parts[i].toReversed())
    if (i > 0) pending.push(new Piece(','))
  }
  pending.push(new Piece(open))
}

module.exports = { stringified }
