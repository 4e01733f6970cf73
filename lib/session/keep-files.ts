// What is on the disk of the sessions that are kept within limits.

import path = require('node:path')
import type { BigIntStats, Dirent, Stats } from 'node:fs'
import fs = require('node:fs/promises')
import { native } from '../addon.js'
import { companionsOf } from '../locks/companions.js'
import { hasCode } from '../system-error.js'
import { archiveOf, sessionPathOf } from './archive-name.js'
import type { SessionSummary } from './summary.js'

/** The entries of a directory; `undefined` if it does not exist, or the error if it can't be read. */
export async function entriesOf(directory: string): Promise<Dirent[] | Error | undefined> {
  try {
    return await fs.readdir(directory, { withFileTypes: true })
  } catch (error) {
    return hasCode(error, 'ENOENT') ? undefined : (error as Error)
  }
}

/** The path without links; the path itself if there is nothing. */
export async function realPathOf(directory: string): Promise<string> {
  try {
    return await fs.realpath(directory)
  } catch {
    return directory
  }
}

export async function statOf(filePath: string): Promise<Stats | undefined> {
  try {
    return await fs.lstat(filePath)
  } catch {
    return undefined
  }
}

/** Bytes on disk of a session or of its archive, and of what is kept beside it; `undefined` if it is gone. */
export async function sizeOf(filePath: string): Promise<number | undefined> {
  const session = sessionPathOf(filePath)
  const size = ((await statOf(session)) ?? (await statOf(archiveOf(session))))?.size
  return size === undefined ? undefined : size + (await companionBytes(session))
}

/** Bytes of the files that are kept beside a session, but for those that earlier versions kept to replay it sooner. */
export async function companionBytes(filePath: string): Promise<number> {
  let bytes = 0
  for (const companion of companionsOf(sessionPathOf(filePath)).others) bytes += (await statOf(companion))?.size ?? 0
  return bytes
}

/** Why a session is not the one that was listed; `undefined` if it is. */
export async function changeOf({
  filePath,
  fileSize,
  archivedBytes,
  lastModified,
}: SessionSummary): Promise<'Changed' | undefined> {
  const stat = await fs.lstat(filePath, { bigint: true }).catch(() => undefined)
  const isSame =
    stat?.isFile() === true &&
    Number(stat.size) === (archivedBytes ?? fileSize) &&
    millisecondOf(stat) === lastModified.getTime()
  return isSame ? undefined : 'Changed'
}

/** The millisecond of a file's time that a listing gives. As a double, `mtimeMs` is off by up to 122 ns, so it may be the next one. */
function millisecondOf({ mtimeNs }: BigIntStats): number {
  return Math.max(0, Number(mtimeNs / 1_000_000n))
}

/** The last bytes of a seek table. */
const TABLE_END = Buffer.from([0xb1, 0xea, 0x92, 0x8f])

/** Whether an archive ends with a seek table. One that was cut off between two frames has none, and is otherwise whole. */
export async function hasSeekTable(filePath: string): Promise<boolean> {
  let handle: fs.FileHandle | undefined
  try {
    handle = await fs.open(filePath, 'r')
    const { size } = await handle.stat()
    const { buffer, bytesRead } = await handle.read(
      Buffer.alloc(TABLE_END.length),
      0,
      TABLE_END.length,
      Math.max(0, size - TABLE_END.length),
    )
    return bytesRead === TABLE_END.length && buffer.equals(TABLE_END)
  } catch {
    return false
  } finally {
    await handle?.close().catch(() => {})
  }
}

/** Whether a recorder of this process, in whatever thread, may write to a session: not every one has a lock. */
export async function isRecorded(filePath: string): Promise<boolean> {
  const files = native.recordedFiles()
  if (files.length === 0) return false
  const session = await realFileOf(sessionPathOf(filePath))
  for (const file of files)
    if (path.basename(file) === path.basename(session) && (await realFileOf(file)) === session) return true
  return false
}

/** The path of a file, which may be gone, without links in that of its directory. */
async function realFileOf(filePath: string): Promise<string> {
  return path.join(await realPathOf(path.dirname(filePath)), path.basename(filePath))
}
