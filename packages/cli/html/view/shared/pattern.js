// Patterns that find a text, and the same text in the JSON of payloads.

const pattern = (text, flags) => new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), flags)

/** Encodes text as in the JSON of payloads, to search them without parsing. */
const inIsland = (text) =>
  JSON.stringify(text)
    .slice(1, -1)
    .replace(
      /[<\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
