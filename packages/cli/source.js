'use strict'

const fs = require('node:fs/promises')
const os = require('node:os')
const path = require('node:path')
const { Complaint, failureOf } = require('./complaint.js')
const { openFile } = require('./open-file.js')
const { printable } = require('./safe-text.js')

/** @import { BundleVerification, ForeignFormat, VerifyBundleOptions } from 'session-tape' */
/** @import { Context } from './context.js' */
/** What reads recordings, a context for instance. @typedef {Pick<Context, 'tape' | 'during'>} Reader */

/** The magic number of a zstd frame. */
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/** The number of bytes that are read to detect the kind of a file. */
const BEGINNING = 64

/** A recording begins with an object, after an optional byte order mark and white space. */
const MAY_BE_RECORDING = /^(?:\xef\xbb\xbf)?[ \t\r]*(?:\{|[ \t\r]$)/

const LOGS = { run: 'events.cath-log', session: 'session.jsonl' }
const KINDS = /** @type {const} */ (['run', 'session'])

/**
 * A recording as files.
 *
 * @typedef {object} Files
 * @property {string} path the path as given, for messages
 * @property {string} at the path to read from
 * @property {'session' | 'run'} kind
 * @property {'file' | 'directory' | 'bundle' | 'archive' | 'foreign'} form `bundle`: a directory with a manifest; `archive`: unpacked from one;
 *   `foreign`: another program's session
 * @property {string} log the file of the log, of a foreign session with its conversation
 * @property {true} [archived] whether it is an archived session
 * @property {ForeignFormat} [format] the format of a foreign session
 */

/**
 * A source of a command: a recording as files, a bundle in one file, or a directory that is no recording.
 *
 * @typedef {{ path: string, at: string, kind?: undefined, form: 'archive', log?: undefined, archived?: undefined, format?: undefined }} Archive
 * @typedef {{ path: string, at: string, kind: 'directory', form: 'directory', log?: undefined, archived?: undefined, format?: undefined }} Directory
 * @typedef {Files | Archive} Recording
 * @typedef {Recording | Directory} Source
 * @typedef {Archive | (Files & { form: 'bundle' | 'archive' })} Bundle
 */

/** @type {(context: Reader, given: string) => Promise<Source>} */
async function sourceAt(context, given) {
  const file = await existing(await fileOf(given))
  const found = await statOf(file)
  const source = { path: given, at: file }
  if (found.isDirectory()) return { ...source, ...(await directoryAt(given)) }
  expectRegular(found, given)
  await expectReadable(file)
  const format = await context.tape.detectSessionFormat(file).catch(() => null)
  if (format !== null && format !== 'native')
    return { ...source, at: given, kind: 'session', form: 'foreign', log: given, format }
  // Only another program's session has conversations.
  if (file !== given && file !== `${given}.zst`) await statOf(given)
  if (await isArchive(file)) {
    return (await isArchivedSession(context, file))
      ? { ...source, kind: 'session', form: 'file', log: file, archived: true }
      : { ...source, form: 'archive' }
  }
  await expectSession(context, given)
  return { ...source, kind: 'session', form: 'file', log: given }
}

/** The archive of a session, if only that exists; otherwise the path as given. @param {string} given */
async function existing(given) {
  return given.endsWith('.jsonl') && !(await isThere(given)) && (await isThere(`${given}.zst`)) ? `${given}.zst` : given
}

/** Whether a zstd file is an archived session, not a bundle. @type {(context: Reader, file: string) => Promise<boolean>} */
async function isArchivedSession({ tape }, file) {
  if (file.endsWith('.jsonl.zst') || (await tape.readSessionHeader(file)) !== null) return true
  if (file.endsWith('.tar.zst')) return false
  // Of what was cut off so early that nothing can be unpacked, only its name could say that it was a bundle.
  const replayed = await tape.replaySession(file).catch(() => null)
  return replayed?.warnings.some((text) => text.startsWith('The archive is damaged')) ?? false
}

/** The file that a path with the form `PATH#CONVERSATION` names, if there is nothing at the path itself. @param {string} given */
async function fileOf(given) {
  const at = given.lastIndexOf('#')
  if (at <= 0 || (await isThere(given))) return given
  const file = given.slice(0, at)
  return (await isThere(file)) ? file : given
}

/** Throws about what is neither a file nor a directory. @type {(found: import('node:fs').Stats, given: string) => void} */
function expectRegular(found, given) {
  if (found.isFile()) return
  const what = found.isFIFO() ? 'a pipe' : found.isSocket() ? 'a socket' : 'a device'
  throw new Complaint(
    'EINVAL',
    `${shown(given)} is not a regular file but ${what}; write its content to a file first`,
    { path: given },
  )
}

/** @param {string} file */
const isThere = (file) =>
  fs.access(file).then(
    () => true,
    () => false,
  )

/** The size of a log in bytes; of a foreign session, that of its file. @param {string} log */
async function sizeOf(log) {
  return (await fs.stat(await fileOf(log))).size
}

/** @param {string} given */
async function statOf(given) {
  try {
    return await fs.stat(given)
  } catch (error) {
    const { code, message } = failureOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new Complaint(code, `there is nothing at ${shown(given)}`, { path: given })
    }
    throw new Complaint(code, `can't look at ${shown(given)}: ${message}`, { path: given })
  }
}

/** Throws unless there is a directory that can be read. @param {string} given */
async function expectDirectory(given) {
  if (!(await statOf(given)).isDirectory())
    throw new Complaint('ENOTDIR', `${shown(given)} is not a directory`, { path: given })
  await namesIn(given)
}

/** @param {string} directory */
async function namesIn(directory) {
  try {
    return await fs.readdir(directory)
  } catch (error) {
    const { code, message } = failureOf(error)
    throw new Complaint(code, `can't look into ${shown(directory)}: ${message}`, { path: directory })
  }
}

/** @type {(given: string) => Promise<Pick<Files, 'kind' | 'form' | 'log'> | Pick<Directory, 'kind' | 'form' | 'log'>>} */
async function directoryAt(given) {
  const names = await namesIn(given)
  const kind = KINDS.find((each) => names.includes(LOGS[each]))
  const isBundle = names.includes('manifest.json')
  if (!isBundle && kind !== 'run') return { kind: 'directory', form: 'directory' }
  const log = path.join(given, LOGS[kind ?? 'run'])
  return { kind: kind ?? 'run', form: isBundle ? 'bundle' : 'directory', log }
}

/**
 * Detects an archive by its first bytes. The name decides only for a file that begins neither as an archive nor as a recording.
 *
 * @param {string} given
 */
async function isArchive(given) {
  const start = await beginningOf(given, BEGINNING)
  if (start.subarray(0, ZSTD_MAGIC.length).equals(ZSTD_MAGIC)) return true
  return given.endsWith('.tar.zst') && !MAY_BE_RECORDING.test(start.toString('latin1'))
}

/** The first bytes of a file; empty if it can't be read. @type {(file: string, length: number) => Promise<Buffer>} */
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

/** A file is a session if it has the extension, damaged or not, or begins like one. @type {(context: Reader, given: string) => Promise<void>} */
async function expectSession({ tape }, given) {
  if (given.endsWith('.jsonl') || (await tape.readSessionHeader(given)) !== null) return
  const hint = path.basename(given) === LOGS.run ? '; name the directory that it is in' : ''
  throw new Complaint('NotRecognised', `${shown(given)} is neither a session, nor a run, nor a bundle${hint}`, {
    path: given,
  })
}

/** @param {string} given */
async function expectReadable(given) {
  try {
    await (await openFile(given)).close()
  } catch (error) {
    const { code, message } = failureOf(error)
    throw new Complaint(code, `Failed to read file: ${message}`, { path: given })
  }
}

/** The source at a path. Throws unless it is a session, a run or a bundle. @type {(context: Reader, given: string) => Promise<Recording>} */
async function recordingAt(context, given) {
  const source = await sourceAt(context, given)
  if (source.kind !== 'directory') return source
  const message = `${shown(given)} is a directory that holds neither a run nor a bundle; for a session, name its file`
  throw new Complaint('NotRecognised', message, { path: given })
}

/** The source at a path. Throws unless it is a bundle. @type {(context: Reader, given: string) => Promise<Bundle>} */
async function bundleAt(context, given) {
  const source = await recordingAt(context, given)
  if (isBundle(source)) return source
  const what = source.kind === 'run' ? 'a run that was not sealed' : 'a session'
  throw new Complaint('NotABundle', `${shown(given)} is ${what}, and no bundle`, { path: given })
}

/**
 * Calls `use` with the source as files. An archive is verified and unpacked to a temporary directory during the call.
 *
 * @template T
 * @param {Reader} context
 * @param {Recording} source
 * @param {(files: Files) => Promise<T>} use
 */
async function withFiles(context, source, use) {
  if (source.form !== 'archive') return use(source)
  return withTemporary(async (temporary) => {
    const at = path.join(temporary, 'bundle')
    await context.during('unpacking', (options) =>
      context.tape.importBundle(source.at, at, { ...options, durability: 'os' }),
    )
    return await use(await filesAt(source, at))
  })
}

/**
 * Verifies a bundle and calls `use` with the result and, if there are no problems, with its files. An archive is unpacked to a temporary
 * directory during the call.
 *
 * @template T
 * @param {Reader} context
 * @param {Recording} source
 * @param {VerifyBundleOptions} options
 * @param {(found: BundleVerification, files: Files | undefined) => Promise<T>} use
 */
async function withVerified(context, source, options, use) {
  if (source.form !== 'archive') {
    return use(
      await context.during('verifying', (more) => context.tape.verifyBundle(source.at, { ...options, ...more })),
      source,
    )
  }
  return withTemporary(async (temporary) => {
    const at = path.join(temporary, 'bundle')
    const found = await context.during('verifying', (more) =>
      importedTo(context, source.at, at, { ...options, ...more }),
    )
    return use(found, found.ok ? await filesAt(source, at) : undefined)
  })
}

/**
 * Like `verifyBundle`, and unpacks a bundle without problems. One with problems is read again, for what its manifest says.
 *
 * @type {(context: Reader, given: string, directory: string, options: VerifyBundleOptions) => Promise<BundleVerification>}
 */
async function importedTo({ tape }, given, directory, options) {
  try {
    const info = await tape.importBundle(given, directory, { ...options, durability: 'os' })
    return { ok: true, info: { ...info, path: given }, problems: [] }
  } catch (error) {
    const { problems } = failureOf(error)
    if (problems === undefined) throw error
    const { info } = await tape.verifyBundle(given, options)
    return { ok: false, info, problems }
  }
}

/**
 * Calls `use` with the source; of an archived session, with a copy of its file in a temporary directory, for readers of bytes.
 *
 * @template T
 * @param {Reader} context
 * @param {Files} source
 * @param {(files: Files) => Promise<T>} use
 */
async function withSessionFile(context, source, use) {
  if (!source.archived) return use(source)
  return withTemporary(async (temporary) => {
    const copy = path.join(temporary, 'session.jsonl.zst')
    await fs.copyFile(source.at, copy)
    const restored = await context
      .during('unpacking', (more) => context.tape.restoreSession(copy, more))
      .catch((error) => {
        // What is before the damage can be read from the archive.
        if (error.code !== 'Damaged' && error.code !== 'NotASession') throw error
        return { filePath: source.at }
      })
    return use({ ...source, log: restored.filePath })
  })
}

/** The files of a bundle that verified. @type {(source: Recording, at: string) => Promise<Files>} */
async function filesAt(source, at) {
  const { kind, log } = /** @type {Files} */ (await directoryAt(at))
  return { ...source, at, kind, log }
}

/**
 * @template T
 * @param {(temporary: string) => Promise<T>} use
 */
async function withTemporary(use) {
  const temporary = await fs.mkdtemp(path.join(os.tmpdir(), 'session-tape-'))
  try {
    return await use(temporary)
  } finally {
    await fs.rm(temporary, { recursive: true, force: true })
  }
}

const isBundle = /** @type {(source: Source) => source is Bundle} */ (
  ({ form }) => form === 'bundle' || form === 'archive'
)

/** A path for messages. @param {string} given */
const shown = (given) => printable(given, 1000)

module.exports = {
  existing,
  expectDirectory,
  expectRegular,
  fileOf,
  sizeOf,
  sourceAt,
  recordingAt,
  bundleAt,
  withFiles,
  withSessionFile,
  withVerified,
  isBundle,
  beginningOf,
  shown,
}
