// The names of a project: those of its sessions and their live checkpoints, from a scan of all files.

import path = require('node:path')
import { native } from '../addon.js'
import type { End } from '../binding/batch.js'
import { HEADERS, resultOf } from '../binding/job.js'
import { NO_OPTIONS } from '../arguments.js'
import { hasOwn, parse } from '../builtins.js'
import { sessionPathOf } from '../session/archive-name.js'
import { liveCheckpoints } from '../session/describe.js'
import { listProject } from '../session/list.js'
import { type Report, type SessionReport, isFailed, scan } from '../session/scan.js'
import type { Place } from './place.js'

/** A file of the project. */
export interface ProjectFile {
  filePath: string
  sessionId: string
  /** Whether it is the place's own. */
  isOwn: boolean
  identity: Identity
  report: Report
}

/** A file with a usable report. */
export type UsableFile = ProjectFile & { report: SessionReport }

/** A file before it is scanned. */
type Unscanned = Omit<ProjectFile, 'report'> & { report: Report | undefined }

/** The identity of a file, empty if the system provides none, and its version. `null` if there is no such file. */
type Identity = [identity: string, version: string] | null

/** A holder of a name: a checkpoint, or the session itself. */
export interface Holder {
  file: UsableFile
  checkpointId: string | undefined
}

export class Project {
  #projectHash: string
  #files: ProjectFile[]

  constructor(projectHash: string, files: ProjectFile[]) {
    this.#projectHash = projectHash
    this.#files = files
  }

  /** Scans the project of a place. */
  static async scan(place: Place, projectHash: string): Promise<Project> {
    const { sessions } = await listProject(place.chatsDir, projectHash)
    const files = sessions.map(({ filePath, sessionId }) => fileOf(filePath, sessionId, false))
    const own = place.filePath
    if (own !== null) files.push(fileOf(own, place.sessionId, true))
    const identities = await identitiesOf(files)
    files.forEach((file, index) => (file.identity = identities[index]!))
    const project = new Project(projectHash, eachOnce(files) as ProjectFile[])
    await project.#rescan(project.#files)
    return project
  }

  /** Scans the files again that have changed since, and those of sessions for which `isLocked` returns `true`, which can no longer change. */
  async update(isLocked: (sessionId: string) => boolean): Promise<void> {
    const identities = await identitiesOf(this.#files)
    const changed = this.#files.filter(
      (file, index) => !isSame(file.identity, identities[index]!) || isLocked(file.sessionId),
    )
    this.#files.forEach((file, index) => (file.identity = identities[index]!))
    await this.#rescan(changed)
  }

  async #rescan(files: ProjectFile[]): Promise<void> {
    const paths = files.map(({ filePath }) => filePath)
    const reports = await scan(paths, this.#projectHash, NO_OPTIONS)
    files.forEach((file, index) => {
      file.report = reports[index]!
      // Since the listing, the file may have been replaced by that of another session.
      if (!file.isOwn && !isFailed(file.report)) file.sessionId = file.report.metadata.sessionId
    })
  }

  /** Returns the report on the place's own file; `undefined` if it has none. Throws if the file does not replay. */
  own(): SessionReport | undefined {
    const report = this.#files.find(({ isOwn }) => isOwn)?.report
    if (report !== undefined && isFailed(report)) throw new Error(report.error)
    return report
  }

  /** Whether a session or a live checkpoint has this id. */
  hasId(name: string): boolean {
    return this.#usable().some(
      ({ sessionId, report }) =>
        sessionId === name || liveCheckpoints(report.checkpoints).some(({ checkpointId }) => checkpointId === name),
    )
  }

  /**
   * Returns the holders of a name. Leaves out those for which `isExempt` returns `true`.
   */
  collisions(name: string, isExempt: (holder: Holder) => boolean): Holder[] {
    const found: Holder[] = []
    for (const file of this.#usable()) {
      if (isNamed(file.report, name)) found.push({ file, checkpointId: undefined })
      for (const { checkpointId, name: other } of liveCheckpoints(file.report.checkpoints)) {
        if (other.trim() === name) found.push({ file, checkpointId })
      }
    }
    return found.filter((collision) => !isExempt(collision))
  }

  #usable(): UsableFile[] {
    return this.#files.filter(isUsable)
  }
}

function isUsable(file: ProjectFile): file is UsableFile {
  return !isFailed(file.report) && !file.report.sequenceCorrupt
}

function fileOf(filePath: string, sessionId: string, isOwn: boolean): Unscanned {
  return { filePath: sessionPathOf(filePath), sessionId, isOwn, identity: null, report: undefined }
}

function isNamed(report: SessionReport, name: string): boolean {
  return hasOwn(report, 'name') && report.name?.trim() === name
}

/** Removes duplicates, because a link can put a file into the listing twice. Keeps the last path of a file: the place's own comes last. */
function eachOnce(files: Unscanned[]): Unscanned[] {
  const seen = new Set<string>()
  const isNew = ({ filePath, identity }: Unscanned) => {
    const keys = [path.resolve(filePath), ...(identity !== null && identity[0] !== '' ? [identity[0]] : [])]
    if (keys.some((key) => seen.has(key))) return false
    keys.forEach((key) => seen.add(key))
    return true
  }
  return files.reverse().filter(isNew).reverse()
}

async function identitiesOf(files: Pick<ProjectFile, 'filePath'>[]): Promise<Identity[]> {
  return resultOf<Identity[]>(HEADERS, parse<End>(await native.fileIdentities(files.map(({ filePath }) => filePath))))
}

function isSame(one: Identity, other: Identity): boolean {
  if (one === null || other === null) return one === other
  return one[0] === other[0] && one[1] === other[1]
}
