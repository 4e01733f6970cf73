'use strict'

// Puts a repaired session in place of the damaged one, which is kept.

const crypto = require('node:crypto')
const fs = require('node:fs/promises')
const path = require('node:path')
const { Complaint, failureOf, usage } = require('../complaint.js')
const { likeBefore } = require('../like-before.js')
const { shown } = require('../source.js')

/** @import { Stats } from 'node:fs' */
/** @import { RepairOptions, RepairReceipt, SessionLock } from 'session-tape' */
/** @import { Context } from '../context.js' */

/**
 * Repairs a session under its lock. Resolves to the receipt, and to where the damaged file is now, or null if nothing was wrong.
 *
 * @type {(context: Context, given: string, options: RepairOptions) => Promise<{ receipt: RepairReceipt, kept: string | null }>}
 */
async function repairInPlace(context, given, options) {
  if (/\.(?:gz|zst)$/.test(given)) throw usage('--in-place is not for compressed files: name a destination')
  const { tape } = context
  const source = await fs.realpath(given)
  const before = await fs.stat(source)
  await expectUnused(tape, source, given)
  const header = await tape.readSessionHeader(source)
  let lock = header === null ? null : await locked(tape, source, header.sessionId, given)
  const repaired = path.join(path.dirname(source), `.session-tape-${crypto.randomBytes(6).toString('hex')}.repair`)
  try {
    const receipt = await context.during('repairing', (more) =>
      tape.repairSession(source, repaired, { ...options, ...more }),
    )
    // Without a first line, the id of the session is known only now.
    lock ??= await locked(tape, source, (await tape.readSessionHeader(repaired))?.sessionId, given)
    if (!receipt.changed) {
      if (!isSame(before, await fs.stat(source))) throw changed(given)
      return { receipt: { ...receipt, destination: given }, kept: null }
    }
    const kept = await replace(source, repaired, before, given)
    return { receipt: { ...receipt, destination: given }, kept }
  } finally {
    await fs.rm(repaired, { force: true })
    await lock?.release()
  }
}

/**
 * Throws if a recorder with the option `exclusive` has the file.
 *
 * @type {(tape: Context['tape'], source: string, given: string) => Promise<void>}
 */
async function expectUnused(tape, source, given) {
  const lockPath = `${source}.lock`
  const exists = await fs.access(lockPath).then(
    () => true,
    () => false,
  )
  if (exists && !(await tape.isLockStale(lockPath))) throw inUse(given)
}

/** @type {(tape: Context['tape'], source: string, sessionId: string | undefined, given: string) => Promise<SessionLock | null>} */
async function locked(tape, source, sessionId, given) {
  // Another id than these has no lock: repair gives the session a new one.
  if (typeof sessionId !== 'string' || !/^[A-Za-z0-9_-]{1,200}$/.test(sessionId)) return null
  try {
    return await tape.acquireSessionLock(path.dirname(source), sessionId)
  } catch (error) {
    throw failureOf(error).name === 'SessionLockedError' ? inUse(given) : error
  }
}

/** @param {string} given */
const inUse = (given) =>
  new Complaint('Locked', `${shown(given)} is in use by another process: end that first`, { path: given })

/** @param {string} given */
const changed = (given) =>
  new Complaint('SourceChanged', `${shown(given)} was changed while it was being repaired: repair it again`, {
    path: given,
  })

/** @type {(given: string, kept: string) => InstanceType<typeof Complaint>} */
const divided = (given, kept) =>
  new Complaint(
    'SourceChanged',
    `${shown(given)} was recorded to while it was replaced: what was added before that is at the end of ${shown(kept)}`,
    { path: kept },
  )

/** @type {(one: Stats, other: Stats) => boolean} */
const isSame = (one, other) => one.ino === other.ino && one.size === other.size && one.mtimeMs === other.mtimeMs

/**
 * At every moment there is a file at `source`: first the damaged one, then the repaired one. Resolves to where the damaged one is. Throws if it was
 * written to meanwhile: then it is at `source` again, unless the repaired one was written to as well.
 *
 * @type {(source: string, repaired: string, before: Stats, given: string) => Promise<string>}
 */
async function replace(source, repaired, before, given) {
  const kept = `${source}.damaged-${new Date().toISOString().replace(/[:.]/g, '-')}`
  await likeBefore(repaired, before)
  const placed = await fs.stat(repaired)
  const isLinked = await keep(source, kept, before)
  if (!isSame(before, await fs.stat(source))) {
    await fs.rm(kept)
    throw changed(given)
  }
  await fs.rename(repaired, source)
  // A recorder without a lock may have had the file open: what it appended is in the kept one.
  const expectUnchanged = async () => {
    if (!isLinked || isSame(before, await fs.stat(kept))) return
    if (!isSame(placed, await fs.stat(source))) throw divided(given, kept)
    await fs.rename(kept, source)
    throw changed(given)
  }
  await expectUnchanged()
  await syncDirectory(path.dirname(source))
  await expectUnchanged()
  return kept
}

/**
 * Gives a file a second name; where there are no hard links, copies it. Resolves to whether it is the same file.
 *
 * @type {(source: string, kept: string, before: Stats) => Promise<boolean>}
 */
async function keep(source, kept, before) {
  try {
    await fs.link(source, kept)
    return true
  } catch (error) {
    if (failureOf(error).code === 'EEXIST') throw error
    await fs.copyFile(source, kept, fs.constants.COPYFILE_EXCL)
    await likeBefore(kept, before)
    return false
  }
}

/** Makes the new names durable, where the system can. @param {string} directory */
async function syncDirectory(directory) {
  const handle = await fs.open(directory, 'r').catch(() => null)
  try {
    await handle?.sync()
  } catch {
    // Such a file system syncs no directories.
  } finally {
    await handle?.close()
  }
}

module.exports = { repairInPlace }
