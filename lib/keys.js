'use strict'

const { native } = require('./builtins.js')
const { check, checkEach, expect } = require('./arguments.js')

/** Checks that a value is an array of Ed25519 public keys. */
function checkKeys(keys) {
  check.strings(keys, 'options.trustedKeys')
  checkEach(keys, 'options.trustedKeys', (key, name) => {
    const fault = native.publicKeyFault(key)
    expect(fault === null, name, `the PEM text of an Ed25519 public key (${fault})`, key)
  })
}

module.exports = { checkKeys }
