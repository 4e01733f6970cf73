'use strict'

const { native } = require('./native.js')
const { check, checkEach, expect } = require('./arguments.js')

/** Throws unless a value is an array of public keys. */
function checkKeys(keys) {
  check.strings(keys, 'options.trustedKeys')
  checkEach(keys, 'options.trustedKeys', (key, name) => {
    const fault = native.publicKeyFault(key)
    expect(fault === null, name, `the PEM text of an Ed25519 public key (${fault})`, key)
  })
}

module.exports = { checkKeys }
