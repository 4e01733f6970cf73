// CommonJS and ES modules in one process share one addon: a recorder of one is an instance of the class of the other.
const assert = require('node:assert/strict')
const required = require('session-tape')

import('session-tape').then(({ default: _, ...imported }) => {
  for (const [name, value] of Object.entries(required)) assert.equal(imported[name], value, name)
  assert.deepEqual(Object.keys(imported).sort(), Object.keys(required).sort())
  console.log('one module')
})
