// Replays the given paths, and reads them with Node's own stream, as a user without permission for all of them; prints both results.
// A process of its own: a test runner can't give up its privileges and get them back.

import { createReadStream } from 'node:fs'
import { readSessionHeader, replaySession } from '../../index.js'

const NOBODY = 65534

/** Gives up the privileges of root. Returns the reason if that is not possible, otherwise null. */
function becomeNobody() {
  if (process.getuid() !== 0) return null
  try {
    process.setgroups([])
    process.setgid(NOBODY)
    process.setuid(NOBODY)
    return null
  } catch (error) {
    return error.message
  }
}

async function wordsOfNode(filePath) {
  try {
    for await (const chunk of createReadStream(filePath)) void chunk
    return 'readable'
  } catch (error) {
    return error.message
  }
}

const refused = becomeNobody()
if (refused !== null) {
  console.log(JSON.stringify({ refused }))
} else {
  const reports = []
  for (const filePath of process.argv.slice(2)) {
    reports.push({
      words: await wordsOfNode(filePath),
      result: await replaySession(filePath),
      header: await readSessionHeader(filePath),
    })
  }
  console.log(JSON.stringify(reports))
}
