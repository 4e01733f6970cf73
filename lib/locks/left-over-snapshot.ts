// Snapshots next to sessions that another program has removed: they would keep the directory from ever becoming empty.

import fs = require('node:fs/promises')
import { isAbsence } from '../system-error.js'

const SESSION_SNAPSHOT = /\.jsonl(?:\.zst)?\.snap$/
const EXTENSION = '.snap'

/** How every version of a snapshot begins. */
const BEGINNING = 'session-tape snapshot '

export function isSnapshotName(name: string): boolean {
  return SESSION_SNAPSHOT.test(name)
}

/** The file whose snapshot has this name or path. */
export function sessionOfSnapshot(name: string): string {
  return name.slice(0, -EXTENSION.length)
}

/** Whether it is a snapshot of this library whose session is gone. */
export async function isLeftOverSnapshot(filePath: string): Promise<boolean> {
  return (await isGone(sessionOfSnapshot(filePath))) && isSnapshot(filePath)
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
