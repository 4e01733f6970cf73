'use strict'

/** Quotes a text as a word of bash and zsh. @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`

module.exports = { quoted }
