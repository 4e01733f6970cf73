// Snapshots next to sessions that another program has removed: they would keep the directory from ever becoming empty.

import fs = require('node:fs/promises')
import { isAbsence } from '../system-error.js'
import { removeQuietly } from './temporary-file.js'

const SESSION_SNAPSHOT = '.jsonl.snap'
const EXTENSION = '.snap'

/** How every version of a snapshot begins. */
const BEGINNING = 'session-tape snapshot '

export function isSnapshotName(name: string): boolean {
  return name.endsWith(SESSION_SNAPSHOT)
}

/** Removes a snapshot of this library if its session is gone. */
export async function removeLeftOverSnapshot(filePath: string): Promise<void> {
  if ((await isGone(filePath.slice(0, -EXTENSION.length))) && (await isSnapshot(filePath))) await removeQuietly(filePath)
}

async function isGone(filePath: string): Promise<boolean> {
  try {
    await fs.lstat(filePath)
    return false
  } catch (error) {
    return isAbsence(error)
  }
}

async function isSnapshot(filePath: string): Promise<boolean> {
  let handle: fs.FileHandle | undefined
  try {
    if (!(await fs.lstat(filePath)).isFile()) return false
    handle = await fs.open(filePath, 'r')
    const buffer = Buffer.alloc(BEGINNING.length)
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
    return buffer.toString('latin1', 0, bytesRead) === BEGINNING
  } catch {
    return false
  } finally {
    await handle?.close().catch(() => {})
  }
}
