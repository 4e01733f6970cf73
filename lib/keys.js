'use strict'

const { native } = require('./native.js')
const { check, expect } = require('./arguments.js')

/** Throws unless a value is an array of public keys. */
function checkKeys(keys) {
  check.strings(keys, 'options.trustedKeys')
  for (const [index, key] of keys.entries()) {
    const fault = native.publicKeyFault(key)
    expect(fault === null, `options.trustedKeys[${index}]`, `the PEM text of an Ed25519 public key (${fault})`, key)
  }
}

module.exports = { checkKeys }
