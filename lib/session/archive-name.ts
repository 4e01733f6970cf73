// The names of archived sessions: that of the session's file and an extension.

const SESSION = '.jsonl'
const ARCHIVE = '.zst'

/** Whether a file has the name of a session or of an archived one. */
export function isSessionName(name: string): boolean {
  return name.endsWith(SESSION) || name.endsWith(SESSION + ARCHIVE)
}

/** The archive that stands for a session's file. */
export function archiveOf(filePath: string): string {
  return filePath + ARCHIVE
}

/** The session's file that an archive stands for; `null` if the path is not that of an archive. */
export function sessionOf(filePath: string): string | null {
  return filePath.endsWith(SESSION + ARCHIVE) ? filePath.slice(0, -ARCHIVE.length) : null
}

/** The session's file, whether the path is its own or that of its archive. Readers open the archive if only that is there. */
export function sessionPathOf(filePath: string): string {
  return sessionOf(filePath) ?? filePath
}
