#!/usr/bin/env node
'use strict'

const { main } = require('./program.js')

main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode
  // An interrupted process does not wait for threads that are still at work.
  if (exitCode > 128) process.exit(exitCode)
})
