'use strict'

// The names of a project: those of its sessions and their live checkpoints, from a scan of all files.

const path = require('node:path')
const { append, hasOwn, native, parseRecord } = require('../builtins.js')
const { liveCheckpoints } = require('../session/describe.js')
const { HEADERS, resultOf } = require('../binding/job.js')
const { listProject } = require('../session/list.js')
const { scan } = require('../session/scan.js')

class Project {
  #projectHash
  #options
  /** Each file has its path, the session id, whether it is the place's own, its identity, and the report of the scan. */
  #files

  constructor(projectHash, options, files) {
    this.#projectHash = projectHash
    this.#options = options
    this.#files = files
  }

  /** Scans the project of a place. `options` are those of the scan. */
  static async scan(place, projectHash, options) {
    const { sessions } = await listProject(place.chatsDir, projectHash)
    const files = sessions.map(({ filePath, sessionId }) => fileOf(filePath, sessionId, false))
    const own = place.filePath
    if (own !== null) append(files, fileOf(own, place.sessionId, true))
    const identities = await identitiesOf(files)
    files.forEach((file, index) => (file.identity = identities[index]))
    const project = new Project(projectHash, options, eachOnce(files))
    await project.#rescan(project.#files)
    return project
  }

  /** Scans the files again that have changed since, and those of sessions for which `isLocked` returns `true`, which can no longer change. */
  async update(isLocked) {
    const identities = await identitiesOf(this.#files)
    const changed = this.#files.filter((file, index) => !isSame(file.identity, identities[index]) || isLocked(file.sessionId))
    this.#files.forEach((file, index) => (file.identity = identities[index]))
    await this.#rescan(changed)
  }

  async #rescan(files) {
    const paths = files.map(({ filePath }) => filePath)
    const reports = await scan(paths, this.#projectHash, this.#options)
    files.forEach((file, index) => {
      file.report = reports[index]
      // Since the listing, the file may have been replaced by that of another session.
      if (!file.isOwn && !hasOwn(file.report, 'error')) file.sessionId = file.report.metadata.sessionId
    })
  }

  /** Returns the report on the place's own file; `undefined` if it has none. Throws if the file does not replay. */
  own() {
    const file = this.#files.find(({ isOwn }) => isOwn)
    if (file !== undefined && hasOwn(file.report, 'error')) throw new Error(file.report.error)
    return file?.report
  }

  /** Whether a session or a live checkpoint has this id. */
  hasId(name) {
    return this.#usable().some(
      ({ sessionId, report }) =>
        sessionId === name || liveCheckpoints(report.checkpoints).some(({ checkpointId }) => checkpointId === name),
    )
  }

  /**
   * Returns the holders of a name, as `{ file, checkpointId }`; `checkpointId` is `undefined` if the session itself has it. Leaves out those for
   * which `isExempt` returns `true`.
   */
  collisions(name, isExempt) {
    const found = []
    for (const file of this.#usable()) {
      if (isNamed(file.report, name)) append(found, { file, checkpointId: undefined })
      for (const { checkpointId, name: other } of liveCheckpoints(file.report.checkpoints)) {
        if (other.trim() === name) append(found, { file, checkpointId })
      }
    }
    return found.filter((collision) => !isExempt(collision))
  }

  #usable() {
    return this.#files.filter(({ report }) => !hasOwn(report, 'error') && !report.sequenceCorrupt)
  }
}

/** A file before it is scanned. */
function fileOf(filePath, sessionId, isOwn) {
  return { filePath, sessionId, isOwn, identity: null, report: undefined }
}

function isNamed(report, name) {
  return hasOwn(report, 'name') && report.name !== null && report.name.trim() === name
}

/** Removes duplicates, because a link can put a file into the listing twice. Keeps the last path of a file: the place's own comes last. */
function eachOnce(files) {
  const seen = new Set()
  const isNew = ({ filePath, identity }) => {
    const keys = [path.resolve(filePath), ...(identity !== null && identity[0] !== '' ? [identity[0]] : [])]
    if (keys.some((key) => seen.has(key))) return false
    keys.forEach((key) => seen.add(key))
    return true
  }
  return files.reverse().filter(isNew).reverse()
}

async function identitiesOf(files) {
  return resultOf(HEADERS, parseRecord(await native.fileIdentities(files.map(({ filePath }) => filePath))))
}

function isSame(one, other) {
  if (one === null || other === null) return one === other
  return one[0] === other[0] && one[1] === other[1]
}

module.exports = { Project }
