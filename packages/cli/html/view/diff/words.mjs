// Compares two texts word by word.

/** A number with a fraction is one word: 212.4 and 215.9 have no common part. */
const WORD = /\s+|\d+\.\d+|[\p{L}\p{N}_]+|[^]/gu
const MAX_WORDS = 40_000
/** The maximum number of differing words. Above it, what two texts have in common is coincidental. */
const MAX_EDITS = 1500

/**
 * @returns {['=' | '-' | '+', string][]} the parts in order: in both, only on the left, only on the right
 */
export function wordDiff(left, right) {
  const [a, b] = [left.match(WORD) ?? [], right.match(WORD) ?? []]
  const [head, tail] = sharedEnds(a, b)
  const middle = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)]
  const parts = [['=', a.slice(0, head)], ...middleParts(...middle), ['=', a.slice(a.length - tail)]]
  return joined(parts.map(([op, words]) => [op, words.join('')]).filter(([, text]) => text !== ''))
}

function sharedEnds(a, b) {
  const shorter = Math.min(a.length, b.length)
  let head = 0
  while (head < shorter && a[head] === b[head]) head++
  let tail = 0
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  return [head, tail]
}

function middleParts(a, b) {
  const replaced = [
    ['-', a],
    ['+', b],
  ]
  if (a.length === 0 || b.length === 0 || a.length + b.length > MAX_WORDS) return replaced
  const path = shortestPath(a, b)
  if (path === null) return replaced
  const parts = partsOf(path, a, b)
  return isConfetti(parts, a, b) ? replaced : parts
}

/** Texts with only some small words in common are easier to read as one replaced by the other. Long texts have more such words. */
function isConfetti(parts, a, b) {
  const letters = (words) => words.reduce((sum, word) => sum + (/[\p{L}\p{N}]/u.test(word) ? word.length : 0), 0)
  const kept = parts.reduce((sum, [op, words]) => sum + (op === '=' ? letters(words) : 0), 0)
  const all = Math.max(letters(a), letters(b))
  return kept < (all < 60 ? 0.15 : 0.35) * all
}

/**
 * The algorithm of Myers: the farthest position in the left text on each diagonal, for a growing number of edits, until both ends are
 * reached. Returns the positions for each number of edits, or null above the maximum. Round n has the diagonals -n, -n + 2 … n.
 */
function shortestPath(a, b) {
  const rounds = []
  for (let edits = 0; edits <= MAX_EDITS; edits++) {
    const round = new Int32Array(edits + 1)
    rounds.push(round)
    for (let at = 0; at <= edits; at++) {
      const diagonal = 2 * at - edits
      const x = slide(a, b, diagonal, edits === 0 ? 0 : step(rounds[edits - 1], at, edits).x)
      round[at] = x
      if (x >= a.length && x - diagonal >= b.length) return rounds
    }
  }
  return null
}

/** The last edit on the path to a diagonal: an inserted word of the right text (down), or a deleted one of the left. */
function step(before, at, edits) {
  const isDown = at === 0 || (at !== edits && before[at - 1] < before[at])
  return isDown ? { isDown, from: at, x: before[at] } : { isDown, from: at - 1, x: before[at - 1] + 1 }
}

function slide(a, b, diagonal, x) {
  while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++
  return x
}

function partsOf(rounds, a, b) {
  const parts = []
  let x = a.length
  let at = (a.length - b.length + rounds.length - 1) / 2
  for (let edits = rounds.length - 1; edits > 0; edits--) {
    const diagonal = 2 * at - edits
    const { isDown, from, x: start } = step(rounds[edits - 1], at, edits)
    if (x > start) parts.push(['=', a.slice(start, x)])
    parts.push(isDown ? ['+', [b[start - diagonal - 1]]] : ['-', [a[start - 1]]])
    x = isDown ? start : start - 1
    at = from
  }
  if (x > 0) parts.push(['=', a.slice(0, x)])
  return parts.reverse()
}

/** Merges neighbouring parts of a kind, deletions before insertions. */
function joined(parts) {
  const result = []
  let [was, is] = ['', '']
  const flush = () => {
    if (was) result.push(['-', was])
    if (is) result.push(['+', is])
    was = is = ''
  }
  for (const [op, text] of parts) {
    if (op === '-') was += text
    else if (op === '+') is += text
    else {
      flush()
      if (result.at(-1)?.[0] === '=') result.at(-1)[1] += text
      else result.push([op, text])
    }
  }
  flush()
  return result
}
