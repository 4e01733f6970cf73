'use strict'

const { withFields } = require('./native.js')

/** What is wrong with a run, as an Error: `message`, and the other fields as its own. */
function runError({ message, ...fields }) {
  return withFields(new Error(message), fields)
}

module.exports = { runError }
