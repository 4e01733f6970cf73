'use strict'

const fs = require('node:fs/promises')
const { mendingHint } = require('./mending.js')
const { sizeOf } = require('../source.js')
const { foreignFacts } = require('./foreign.js')
const { opened } = require('./replay.js')
const { soundness } = require('./soundness.js')
const { tallyOf } = require('./tally.js')

/** Collects facts about a session. */
async function inspectSession(context, source) {
  const size = await sizeOf(source.log)
  const foreign = source.form === 'foreign' ? await foreignFacts(context, source) : {}
  // Nothing is wrong with a file of several conversations.
  if (foreign.receipt === null) return { size, ...foreign }
  const replayed = await replay(context, source)
  const progress = context.progress('counting')
  const tally = await tallyOf(context.tape, source.log, { size, signal: context.signal, progress })
  const { warnings, eventCount, ...rest } = replayed
  const sound = replayed.error === undefined ? soundness(warnings, tally) : { damage: warnings, notes: [] }
  const isDamaged = replayed.error !== undefined || sound.damage.length > 0
  const repair = isDamaged && source.form === 'file' ? await mendingHint(context, source.log) : null
  return {
    size,
    header: await context.tape.readSessionHeader(source.log),
    ...foreign,
    ...(source.form === 'foreign' ? talkOf(tally) : {}),
    ...rest,
    events: eventsOf(tally, eventCount),
    ...(tally.edits.size === 0 ? {} : { edits: Object.fromEntries(tally.edits) }),
    sidecar: await isThere(`${source.log}.snap`),
    ...sound,
    ...(repair === null ? {} : { repair }),
  }
}

async function replay(context, source) {
  try {
    const session = await opened(context, source)
    session.close()
    const { metadata, eventCount, lastSeq, historyLength, warnings, sequenceCorrupt, checkpoints, sessionName, ancestry } = session
    return { metadata, eventCount, lastSeq, historyLength, warnings, sequenceCorrupt, checkpoints, sessionName, ancestry }
  } catch (error) {
    if (error.code !== 'NotASession') throw error
    return { error: error.fields.error, warnings: error.fields.warnings }
  }
}

/** Who said how much, which models and tools, and the tokens that it took: what a session of another program is looked at for. */
function talkOf({ turns, tools, usage, startedWith, switches }) {
  const names = [startedWith, ...switches].map((each) => each?.model).filter((name) => name && name !== 'unknown')
  return { turns: Object.fromEntries(turns), models: [...new Set(names)], tools: Object.fromEntries(tools), usage }
}

function eventsOf({ types, firstTs, lastTs }, count = 0) {
  return { count, byKind: Object.fromEntries(types), firstTime: firstTs, lastTime: lastTs }
}

const isThere = (file) => fs.access(file).then(() => true, () => false)

module.exports = { inspectSession }
