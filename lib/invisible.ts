// Which characters of a text a reader can't see. scripts/build-library.mjs copies this file, compiled, into the command line and its pages.
//
// A model reads them all the same, so text can hide behind them. They are those that Unicode says to ignore if they can't be shown
// (`Default_Ignorable_Code_Point`), control characters, line separators, lone surrogates and the marks of annotations; but not where an emoji or a
// script needs one of them.

/** Control characters, and those except tabs and line feeds. */
const CONTROLS = '\\p{Cc}'
const CONTROLS_IN_LINES = '\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f'

const PICTURE = '\\p{Extended_Pictographic}'
const SCRIPTS_THAT_JOIN = ['Arabic', 'Syriac', 'Mongolian', 'Nko', 'Mandaic', 'Manichaean', 'Phags_Pa', 'Adlam']
const JOINING_LETTER = `(?=\\p{L})[${SCRIPTS_THAT_JOIN.map((name) => `\\p{Script_Extensions=${name}}`).join('')}]`
const MONGOLIAN_LETTER = '(?=\\p{L})\\p{Script=Mongolian}'
const VISIBLE_LETTER = '(?!\\p{Default_Ignorable_Code_Point})\\p{L}'
const VISIBLE_MARKS = '(?:(?!\\p{Default_Ignorable_Code_Point})\\p{M}){0,8}'

/** The signs with which Indic scripts join consonants. */
const VIRAMA =
  '[\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d3b\\u0d3c\\u0d4d\\u0dca\\u0f84\\u1039\\u103a\\u17d2\\u1b44\\u1baa\\u1bab\\u1bf2\\u1bf3\\ua806\\ua8c4\\ua953\\ua9c0\\uaaf6\\uabed\\u{11046}\\u{110b9}\\u{11133}\\u{11134}\\u{111c0}\\u{11235}\\u{112ea}\\u{1134d}\\u{11442}\\u{114c2}\\u{115bf}\\u{1163f}\\u{116b6}]'

const VARIATION = '[\\u180b-\\u180d\\u180f]'
const TAG = '[\\u{e0020}-\\u{e007f}]'

/** The flags that are spelled with tags: those of England, Scotland and Wales. */
const FLAGS = ['gbeng', 'gbsct', 'gbwls'].map((region) => [
  ...[...region].map((letter) => `\\u{e00${letter.charCodeAt(0).toString(16)}}`),
  '\\u{e007f}',
])

/** Each matches a character where nothing needs it. What is before the character is looked at only after the character is found. */
const NOT_NEEDED = [
  // Selectors of an emoji's variant, and in a keycap.
  `[\\ufe0e\\ufe0f](?<!${PICTURE}.)(?<![0-9#*]\\ufe0f(?=\\u20e3))`,
  // The joiner: in an emoji, next to a letter that joins, behind a virama or between a consonant and one.
  `\\u200d(?<!${PICTURE}\\p{Emoji_Modifier}?\\ufe0f?.(?=${PICTURE}))(?<!${JOINING_LETTER}${VISIBLE_MARKS}.)(?!${JOINING_LETTER})(?<!${VIRAMA}.)(?<!${VISIBLE_LETTER}.(?=${VIRAMA}))`,
  // The non-joiner: between letters that join, and behind a virama.
  `\\u200c(?<!${JOINING_LETTER}${VISIBLE_MARKS}.(?=${JOINING_LETTER}))(?<!${VIRAMA}.)`,
  // Variants of Mongolian letters, and the separator of a last vowel.
  `${VARIATION}(?<!${MONGOLIAN_LETTER}.)`,
  `\\u180e(?<!${MONGOLIAN_LETTER}${VARIATION}?.(?=${MONGOLIAN_LETTER}))`,
  `${TAG}(?<!${FLAGS.flatMap(tagsOf).join('|')})`,
]

const ELSEWHERE_NEEDED = '\\u200c\\u200d\\u180b-\\u180f\\ufe0e\\ufe0f\\u{e0020}-\\u{e007f}'

/** For each tag of a flag: what matches behind it. */
function tagsOf(tags: string[]): string[] {
  return tags.map((_, at) => {
    const rest = tags.slice(at + 1).join('')
    return `\\u{1f3f4}${tags.slice(0, at + 1).join('')}${rest === '' ? '' : `(?=${rest})`}`
  })
}

function invisiblePattern(controls: string): RegExp {
  const always = `[${controls}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb](?<![${ELSEWHERE_NEEDED}])`
  return new RegExp([always, ...NOT_NEEDED].join('|'), 'gsu')
}

/** Every character that can't be seen. */
export const INVISIBLE = invisiblePattern(CONTROLS)

/** The same but for tabs and line feeds. */
export const INVISIBLE_IN_LINES = invisiblePattern(CONTROLS_IN_LINES)
