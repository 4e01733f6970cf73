#!/usr/bin/env node
'use strict'

const { main } = require('./program.js')

main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode
  // An interrupted process exits without waiting for background threads.
  if (exitCode > 128) process.exit(exitCode)
})
