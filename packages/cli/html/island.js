'use strict'

// Encodes content for HTML: data as JSON in script elements ("islands"), text escaped.

const { INVISIBLE } = require('../invisible.js')

/**
 * In a script element only `<` can end the data or hide its end, and U+2028 and U+2029 end lines in old JavaScript. The other characters
 * are escaped for readers of the source, in which they would be invisible or change the direction of text.
 */
const RISKY = /[<\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** @param {string} char */
const escaped = (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** A value as JSON on one line, safe in a script element. @param {unknown} value */
function islandJson(value) {
  return safeInIsland(JSON.stringify(value))
}

/** JSON text on one line, made safe in a script element. Outside of strings, JSON has none of the escaped characters. @param {string} json */
function safeInIsland(json) {
  return json.replace(RISKY, escaped)
}

/**
 * A JSON array with one item on each line, which the page splits at line ends to parse items only when they are shown.
 *
 * @param {string[]} lines results of {@link islandJson}
 */
function islandOfLines(lines) {
  return `[\n${lines.join(',\n')}\n]`
}

/** @type {Record<string, string>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Escapes text for the content of an element or an attribute. @param {string} text */
function htmlText(text) {
  return String(text)
    .replace(INVISIBLE, '\ufffd')
    .replace(/[&<>"']/g, (char) => ENTITIES[char])
}

module.exports = { islandJson, safeInIsland, islandOfLines, htmlText }
