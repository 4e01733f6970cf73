'use strict'

/**
 * A value that came out of `JSON.parse`, as JSON text. `JSON.stringify` recurses: what is nested some thousand levels deep is too much for it,
 * and can stand in a file.
 */
function stringified(value) {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return [...pieces(value)].join('')
  }
}

/** The pieces of the text, without recursion: what is still to be written lies on a stack. */
function* pieces(root) {
  const pending = [root]
  while (pending.length > 0) {
    const next = pending.pop()
    if (next instanceof Piece) yield next.text
    else if (Array.isArray(next)) push(pending, '[', ']', next.map((item) => [item]))
    else if (typeof next === 'object' && next !== null) push(pending, '{', '}', membersOf(next))
    else yield JSON.stringify(next) ?? 'null'
  }
}

class Piece {
  constructor(text) {
    this.text = text
  }
}

const membersOf = (object) =>
  Object.entries(object)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [new Piece(`${JSON.stringify(key)}:`), value])

/** Last in, first out: the end lies lowest. */
function push(pending, open, close, parts) {
  pending.push(new Piece(close))
  for (let i = parts.length - 1; i >= 0; i--) {
    pending.push(...parts[i].toReversed())
    if (i > 0) pending.push(new Piece(','))
  }
  pending.push(new Piece(open))
}

module.exports = { stringified }
