'use strict'

/** What is wrong with a run, as an Error: `message`, and the other fields as its own. */
function runError({ message, ...fields }) {
  return Object.assign(new Error(message), fields)
}

module.exports = { runError }
