// Values of secrets: random texts of a given form, from a seed.

import { createHash, randomBytes } from 'node:crypto'

/**
 * The seed: `SESSION_TAPE_SECRET_SEED`, or always the same one. `fresh` makes a new one: with few seeds a value looks like words or code and is
 * left (docs/redaction.md, "Measured").
 */
const wanted = process.env['SESSION_TAPE_SECRET_SEED'] ?? 'a'
export const SEED = wanted === 'fresh' ? randomBytes(4).toString('hex') : wanted

/** A function that returns random integers below its argument; always the same ones for the same text. */
export function randomOf(text) {
  let block = createHash('sha256').update(text).digest()
  let at = 0
  return (below) => {
    if (at + 4 > block.length) {
      block = createHash('sha256').update(block).digest()
      at = 0
    }
    at += 4
    return block.readUInt32LE(at - 4) % below
  }
}

/** The characters of a class such as `A-Za-z0-9_-`. */
function charactersOf(text) {
  const characters = []
  for (let at = 0; at < text.length; at++) {
    if (text[at + 1] === '-' && at + 2 < text.length) {
      for (let code = text.charCodeAt(at); code <= text.charCodeAt(at + 2); code++)
        characters.push(String.fromCharCode(code))
      at += 2
    } else {
      characters.push(text[at])
    }
  }
  return characters
}

/** A random text of the form `pattern`: characters, classes `[a-z]`, and counts `{4}` or `{4,8}` after a class. */
export function textOf(pattern, random) {
  return pattern.replace(/\[([^\]]+)\](?:\{(\d+)(?:,(\d+))?\})?/g, (_, characters, least = 1, most = least) => {
    const of = charactersOf(characters)
    const count = Number(least) + random(Number(most) - Number(least) + 1)
    return Array.from({ length: count }, () => of[random(of.length)]).join('')
  })
}

/** A value of one of several forms. */
export const oneOf = (patterns) => (random) => textOf(patterns[random(patterns.length)], random)

export const HEX32 = '[0-9a-f]{32}'
export const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'
export const BASE64 = '[A-Za-z0-9+/]{31}[0-9][A-Za-z0-9+/]{10}=='

/** What programs generate as a password or a key. */
export const generated = oneOf([
  '[A-Za-z]{5}[0-9]{2}[A-Za-z0-9]{9}',
  '[A-Za-z]{4}[0-9][!*+.~^-][A-Za-z0-9]{6}',
  HEX32,
  UUID,
  BASE64,
])

/** The same without what a URL, a shell or a cookie would have to escape. */
export const plain = oneOf([
  '[A-Za-z]{5}[0-9]{2}[A-Za-z0-9]{9}',
  '[A-Za-z]{3}[0-9][A-Za-z0-9]{4}_[A-Za-z0-9]{6}',
  HEX32,
  UUID,
])

/** What people choose as a password. */
export const chosen = oneOf([
  '[a-z]{4}[A-Z][a-z]{5}[0-9]{2}',
  '[A-Z][a-z]{7}[0-9]{4}!',
  '[a-z]{11}',
  '[a-z]{5}-[a-z]{7}-[a-z]{4}[0-9]',
])
