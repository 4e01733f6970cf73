import { native } from './addon.js'
import { check, checkEach, expect } from './arguments.js'

/** Checks that a value is an array of Ed25519 public keys. */
export function checkKeys(keys: readonly string[], where: string): void {
  check.strings(keys, where)
  checkEach(keys, where, (key, name) => {
    const fault = native.publicKeyFault(key)
    expect(fault === null, name, `the PEM text of an Ed25519 public key (${fault})`, key)
  })
}
