'use strict'

const fs = require('node:fs/promises')
const os = require('node:os')
const path = require('node:path')
const { Complaint } = require('./complaint.js')
const { openFile } = require('./open-file.js')
const { printable } = require('./safe-text.js')

/** With these bytes a zstd frame begins. */
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/** So many of a file's first bytes tell what it is. */
const BEGINNING = 64

/** How a recording begins: with an object, perhaps behind a byte order mark and white space. */
const MAY_BE_RECORDING = /^(?:\xef\xbb\xbf)?[ \t\r]*(?:\{|[ \t\r]$)/

const LOGS = { run: 'events.cath-log', session: 'session.jsonl' }

/**
 * What is at a path.
 *
 * - `path`: as it was given, for people.
 * - `at`: where to read it.
 * - `kind`: `session` or `run`; not known yet of an archive; `directory` of one in which there is neither.
 * - `form`: `file`, `directory`, `bundle` (a directory that was sealed) or `archive`.
 * - `log`: the file with the lines, not known yet of an archive.
 */
async function sourceAt(context, given) {
  const found = await statOf(given)
  const source = { path: given, at: given }
  if (found.isDirectory()) return { ...source, ...(await directoryAt(given)) }
  if (!found.isFile()) throw new Complaint('NotRecognised', `${shown(given)} is not a regular file`)
  await expectReadable(given)
  if (await isArchive(given)) return { ...source, form: 'archive' }
  await expectSession(context, given)
  return { ...source, kind: 'session', form: 'file', log: given }
}

async function statOf(given) {
  try {
    return await fs.stat(given)
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') {
      throw new Complaint(error.code, `there is nothing at ${shown(given)}`, { path: given })
    }
    throw new Complaint(error.code, `can't look at ${shown(given)}: ${error.message}`, { path: given })
  }
}

async function directoryAt(given) {
  const names = await fs.readdir(given).catch((error) => {
    throw new Complaint(error.code, `can't look into ${shown(given)}: ${error.message}`, { path: given })
  })
  const kind = Object.keys(LOGS).find((each) => names.includes(LOGS[each]))
  const isBundle = names.includes('manifest.json')
  if (!isBundle && kind !== 'run') return { kind: 'directory', form: 'directory' }
  const log = path.join(given, LOGS[kind ?? 'run'])
  return { kind: kind ?? 'run', form: isBundle ? 'bundle' : 'directory', log }
}

/** By its first bytes. The name tells only of what is neither an archive nor a recording: one that was cut, perhaps. */
async function isArchive(given) {
  const start = await beginningOf(given, BEGINNING)
  if (start.subarray(0, ZSTD_MAGIC.length).equals(ZSTD_MAGIC)) return true
  return given.endsWith('.tar.zst') && !MAY_BE_RECORDING.test(start.toString('latin1'))
}

/** The first bytes of a file. None if it can't be read. */
async function beginningOf(file, length) {
  let handle
  try {
    handle = await openFile(file)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, 0)
    return buffer.subarray(0, bytesRead)
  } catch {
    return Buffer.alloc(0)
  } finally {
    await handle?.close()
  }
}

/** A file of another name may be a session too, if it begins like one. One of that name is a session, if a damaged one. */
async function expectSession({ tape }, given) {
  if (given.endsWith('.jsonl') || (await tape.readSessionHeader(given)) !== null) return
  const hint = path.basename(given) === LOGS.run ? '; name the directory that it is in' : ''
  throw new Complaint('NotRecognised', `${shown(given)} is neither a session, nor a run, nor a bundle${hint}`, { path: given })
}

async function expectReadable(given) {
  try {
    await (await openFile(given)).close()
  } catch (error) {
    throw new Complaint(error.code, `Failed to read file: ${error.message}`, { path: given })
  }
}

/** The same, for commands that need a session, a run or a bundle. */
async function recordingAt(context, given) {
  const source = await sourceAt(context, given)
  if (source.kind !== 'directory') return source
  const message = `${shown(given)} is a directory that holds neither a run nor a bundle; for a session, name its file`
  throw new Complaint('NotRecognised', message, { path: given })
}

/** The same, for commands that need a bundle. */
async function bundleAt(context, given) {
  const source = await recordingAt(context, given)
  if (isBundle(source)) return source
  const what = source.kind === 'run' ? 'a run that was not sealed' : 'a session'
  throw new Complaint('NotABundle', `${shown(given)} is ${what}, and no bundle`, { path: given })
}

/** Gives `use` the source as files: an archive is verified and unpacked for as long as that takes. */
async function withFiles(context, source, use) {
  if (source.form !== 'archive') return use(source)
  return withTemporary(async (temporary) => {
    const at = path.join(temporary, 'bundle')
    await context.during('unpacking', (options) => context.inner.unpackBundle(source.at, at, options))
    return await use(await filesAt(source, at))
  })
}

/**
 * Verifies a bundle once and gives `use` what was found, and, if nothing is wrong, the bundle as files: an archive is unpacked for as long as
 * that takes.
 */
async function withVerified(context, source, options, use) {
  if (source.form !== 'archive') {
    return use(await context.during('verifying', (more) => context.tape.verifyBundle(source.at, { ...options, ...more })), source)
  }
  return withTemporary(async (temporary) => {
    const at = path.join(temporary, 'bundle')
    const found = await context.during('verifying', (more) => context.inner.verifyOnto(source.at, at, { ...options, ...more }))
    return use(found, found.ok ? await filesAt(source, at) : undefined)
  })
}

async function filesAt(source, at) {
  const { kind, log } = await directoryAt(at)
  return { ...source, at, kind, log }
}

async function withTemporary(use) {
  const temporary = await fs.mkdtemp(path.join(os.tmpdir(), 'session-tape-'))
  try {
    return await use(temporary)
  } finally {
    await fs.rm(temporary, { recursive: true, force: true })
  }
}

const isBundle = ({ form }) => form === 'bundle' || form === 'archive'

/** A path as it is shown. */
const shown = (given) => printable(given, 1000)

module.exports = { sourceAt, recordingAt, bundleAt, withFiles, withVerified, isBundle, beginningOf, shown }
