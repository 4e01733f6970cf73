// Characters that can't be seen are marked in pages and in text, but for those that an emoji or a script needs.
import { createRequire } from 'node:module'
import { describe, expect } from 'vitest'
import { diffToText } from '../../index.js'
import { codePoint } from '../support/code-points'
import { fc, test } from '../support/property'

const require = createRequire(import.meta.url)
const { escaped, escapedLines, printable } = require('../../packages/cli/safe-text.js')
const { INVISIBLE, INVISIBLE_IN_LINES } = require('../../packages/cli/invisible.js')

/** What stands in texts as it is, though it has characters that can't be seen alone. */
const NEEDED = {
  'a picture as an emoji': '❤️',
  'a sign as an emoji': '©️ ™️ ‼️',
  'a picture as text': '☎︎',
  'a keycap': '1️⃣ #️⃣',
  'a family': '👨‍👩‍👧‍👦',
  'a profession with a colour of skin': '🧑🏽‍💻',
  'a gender with a selector': '🕵🏽‍♂️',
  'a rainbow flag': '🏳️‍🌈',
  'a pirate flag': '🏴‍☠️',
  'a flag of letters': '🇩🇪',
  'flags of tags': '🏴󠁧󠁢󠁥󠁮󠁧󠁿 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🏴󠁧󠁢󠁷󠁬󠁳󠁿',
  Persian: 'می‌خواهم کتاب‌ها خانه‌ای',
  'an Arabic letter that is shown as joined': 'ه‍ \u200dه',
  Hindi: 'क्‍ष क्‌ष',
  Bengali: 'র‍্যাব',
  Malayalam: 'ന്‍ ശ്‌',
  Sinhala: 'ක්‍ෂ',
  Mongolian: 'ᠠ᠋ ᠪᠠᠭ᠎ᠠ',
}

/** What can hide a text, each with the number of characters that are marked. */
const HIDING: [string, string, number][] = [
  [
    'selectors behind an emoji',
    `😀${[...'rm -rf'].map((letter) => String.fromCodePoint(0xe0100 + letter.charCodeAt(0))).join('')}`,
    6,
  ],
  ['a second selector behind an emoji', '❤\ufe0f\ufe0f', 1],
  ['selectors behind letters', 'a\ufe00b\ufe01c\ufe0fd\ufe0e', 4],
  ['selectors of ideographs', '葛\u{e0100}辻\u{e0101}', 2],
  [
    'tags',
    `🏴${[...'run'].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('')}\u{e007f}`,
    4,
  ],
  ['tags of a flag without the flag', '\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}', 6],
  ['joiners between Latin letters', 'a\u200db\u200cc', 2],
  ['two joiners in an emoji', '👩\u200d\u200d💻', 2],
  ['a non-joiner at the end of a word', 'می\u200c ', 1],
  ['fillers', '\u115f\u1160\u3164\uffa0', 4],
  ['a joiner between a filler and a virama', '\u3164\u200d\u0d4d', 2],
  ['a grapheme joiner and Khmer vowels', 'a\u034fb\u17b4\u17b5', 3],
  ['Mongolian selectors elsewhere', 'a\u180b\u180c\u180d\u180e\u180f', 5],
  ['shorthand and music', '\u{1bca0}\u{1bca3}\u{1d173}\u{1d17a}', 4],
  ['directions', '\u202eabc\u202c \u2066x\u2069 \u061c\u200e\u200f', 7],
  ['blanks without a width', '\u00ad\u200b\u2060\u2061\ufeff', 5],
  ['controls, separators, annotations and halves', '\u0000\u001b\u0085\u2028\u2029\ufff9\ud800', 7],
]

const marks = (text: string): string => text.replace(INVISIBLE, '■')

describe('characters that cannot be seen', () => {
  test.each(Object.entries(NEEDED))('are left where they are needed: %s', (_, text) => {
    expect(escaped(text)).toBe(text)
  })

  test.each(HIDING)('are marked: %s', (_, text, count) => {
    expect([...text.matchAll(INVISIBLE)].length).toBe(count)
    expect(escaped(text)).toMatch(/^[^]*\\[ux]/)
  })
})

/** The same decisions as a loop over the characters, for one text. Says which characters have to be marked. */
function toMark(text: string): boolean[] {
  const letters = [...text]
  const at = (index: number): string => letters[index] ?? ''
  const isIgnorable = (letter: string): boolean =>
    /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cs}\p{Zl}\p{Zp}\ufff9-\ufffb]/u.test(letter)
  const isPicture = (letter: string): boolean => /\p{Extended_Pictographic}/u.test(letter)
  const joins = (letter: string): boolean =>
    /\p{L}/u.test(letter) &&
    /[\p{scx=Arabic}\p{scx=Syriac}\p{scx=Mongolian}\p{scx=Nko}\p{scx=Mandaic}\p{scx=Manichaean}\p{scx=Phags_Pa}\p{scx=Adlam}]/u.test(
      letter,
    )
  const isMongolian = (letter: string): boolean => /\p{L}/u.test(letter) && /\p{Script=Mongolian}/u.test(letter)
  // All the signs with which this spec builds texts.
  const isVirama = (letter: string): boolean => /[\u094d\u0d4d\u0dca\u09cd]/u.test(letter)
  const letterBefore = (index: number): string => {
    let before = index - 1
    while (index - before <= 8 && /\p{M}/u.test(at(before)) && !isIgnorable(at(before))) before--
    return at(before)
  }
  const isNeeded = (letter: string, index: number): boolean => {
    if (letter === '\ufe0f' && /^[0-9#*]$/.test(at(index - 1)) && at(index + 1) === '\u20e3') return true
    if (letter === '\ufe0e' || letter === '\ufe0f') return isPicture(at(index - 1))
    if (/^[\u180b-\u180d\u180f]$/.test(letter)) return isMongolian(at(index - 1))
    if (letter === '\u180e')
      return (
        isMongolian(at(index + 1)) &&
        (isMongolian(at(index - 1)) || (/^[\u180b-\u180d\u180f]$/.test(at(index - 1)) && isMongolian(at(index - 2))))
      )
    if (letter === '\u200c') return isVirama(at(index - 1)) || (joins(letterBefore(index)) && joins(at(index + 1)))
    if (letter !== '\u200d') return false
    if (
      isVirama(at(index - 1)) ||
      (isVirama(at(index + 1)) && /\p{L}/u.test(at(index - 1)) && !isIgnorable(at(index - 1)))
    )
      return true
    if (joins(letterBefore(index)) || joins(at(index + 1))) return true
    let before = index - 1
    if (at(before) === '\ufe0f') before--
    if (/^\p{Emoji_Modifier}$/u.test(at(before)) && !isPicture(at(before))) before--
    return isPicture(at(before)) && isPicture(at(index + 1))
  }
  return letters.map((letter, index) => isIgnorable(letter) && !isNeeded(letter, index))
}

/** Letters whose neighbours matter, and what may stand next to them. Tags have their own tests. */
const INTERESTING = [
  ...'a1# \n',
  '\u20e3',
  '😀',
  '❤',
  '👩',
  '💻',
  '🏽',
  'م',
  'ه',
  'َ',
  'क',
  'ষ',
  '्',
  '്',
  'ᠠ',
  'ᠭ',
  '\ufe0e',
  '\ufe0f',
  '\ufe00',
  '\u{e0100}',
  '\u200c',
  '\u200d',
  '\u180b',
  '\u180e',
  '\u034f',
  '\u3164',
  '\u200b',
  '\u202e',
]
const text = fc.string({
  unit: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...INTERESTING) },
    codePoint.filter((letter) => !/[\u{e0020}-\u{e007f}]/u.test(letter)),
  ),
  maxLength: 24,
})

describe('texts of any characters', () => {
  test.prop([text])('what cannot be seen is marked, and nothing else', (given) => {
    const expected = toMark(given)
    expect(marks(given)).toBe([...given].map((letter, index) => (expected[index] ? '■' : letter)).join(''))
  })

  test.prop([text])('escaping is idempotent: escaped text stays as it is', (given) => {
    expect(escaped(escaped(given))).toBe(escaped(given))
    expect(escapedLines(given)).toBe(given.split('\n').map(escaped).join('\n'))
  })

  test.prop([text, fc.nat({ max: 20 })])('also where a text is cut', (given, longest) => {
    expect(toMark(printable(given, longest))).not.toContain(true)
  })

  test.prop([text])('in a page tabs and line feeds are left, and nothing else', (given) => {
    const expected = toMark(given)
    expect(given.replace(INVISIBLE_IN_LINES, '■')).toBe(
      [...given].map((letter, index) => (expected[index] && !/[\t\n]/.test(letter) ? '■' : letter)).join(''),
    )
  })

  test.prop([text])('in the text of a difference', (given) => {
    const side = { run_id: given, event_id: 'rec_1', kind: 'content', text: given }
    const shown = diffToText(
      {
        divergence_event: 1,
        left: side,
        right: null,
        ancestors: { left: [], right: [] },
        kind: 'tool',
        likely_cause: given,
        common_ancestor: null,
        affected_nodes: [given],
        fields: [{ path: given, left: given, right: given }],
      } as never,
      { details: true },
    )
    expect(toMark(shown.replaceAll('\n', ' '))).not.toContain(true)
  })
})
