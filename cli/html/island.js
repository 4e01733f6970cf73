'use strict'

// Content as it may stand in the HTML: data in islands of JSON, words escaped.

/**
 * In a script element only `<` can end the data or hide its end; U+2028 and U+2029 end lines in old JavaScript. The rest is for
 * people who open the source in an editor: no control character turns the direction of its text.
 */
const RISKY = /[<\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

const escaped = (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** JSON of a value, on one line, that may stand in a script element. */
function islandJson(value) {
  return JSON.stringify(value).replace(RISKY, escaped)
}

/**
 * An array with one item a line: as a whole it is JSON, and the page can split it at its line ends and parse an item only when
 * somebody looks at it.
 *
 * @param {string[]} lines each made by {@link islandJson}
 */
function islandOfLines(lines) {
  return `[\n${lines.join(',\n')}\n]`
}

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Words from outside in the text of an element, or in an attribute. */
function htmlText(text) {
  return String(text)
    .replace(/[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, '\ufffd')
    .replace(/[&<>"']/g, (char) => ENTITIES[char])
}

module.exports = { islandJson, islandOfLines, htmlText }
