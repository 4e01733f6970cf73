'use strict'

/** Quotes a text as a word of bash and zsh. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`

module.exports = { quoted }
