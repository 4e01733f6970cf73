// Companions of a session: the files that are kept beside it, and live and go with it. A session is `NAME.jsonl`, its archive `NAME.jsonl.zst`.

import fs = require('node:fs/promises')
import path = require('node:path')
import { parse } from '../builtins.js'
import { isAbsence } from '../system-error.js'

/** A kind of companion. */
interface Companion {
  /** What its name has after `NAME`. */
  ending: string
  /** What the names of the files that it is about have there. Without any of these it is left over. */
  of: readonly string[]
  /** The session is complete without it: it goes before the session, and its bytes do not count. */
  isCache?: true
  /** Other programs may use such a name too: even beside its session, all of its content has to tell whether it is one. */
  isWhole?: true
  /** Whether a file of that name is one, by its content. */
  isOne: (text: string) => boolean
}

const SESSION = '.jsonl'
const ARCHIVE = '.jsonl.zst'

const COMPANIONS: readonly Companion[] = [
  // Snapshots, which replays by earlier versions kept. Nothing reads or writes one.
  { ending: '.jsonl.snap', of: [SESSION], isCache: true, isOne: isSnapshot },
  { ending: '.jsonl.zst.snap', of: [ARCHIVE], isCache: true, isOne: isSnapshot },
  // What importSession says of the source.
  { ending: '.jsonl.receipt.jsonl', of: [SESSION, ARCHIVE], isOne: isReceipt },
  // The media that an archive refers to, for programs that read no archives.
  { ending: '.media.json', of: [SESSION, ARCHIVE], isWhole: true, isOne: isMediaList },
]

const OTHERS = COMPANIONS.filter(({ isCache }) => !isCache)

/** How much of a file is read, in bytes: more than the first line of a receipt, or than a list of a hundred thousand media. */
const BEGINNING = 1 << 20
const LARGEST = 16 << 20

/** The paths of the companions of a session's file, whether they exist or not. */
export function companionsOf(session: string): { caches: string[]; others: string[] } {
  // Whatever its name, a replay by an earlier version may have left its snapshot there.
  if (!session.endsWith(SESSION)) return { caches: [`${session}.snap`], others: [] }
  const pathOf = ({ ending }: Companion) => session.slice(0, -SESSION.length) + ending
  return { caches: COMPANIONS.filter(({ isCache }) => isCache).map(pathOf), others: OTHERS.map(pathOf) }
}

/** Those of the paths that go with the session: not a file of another program. */
export async function ownCompanionsOf(session: string): Promise<string[]> {
  const paths = companionsOf(session).others
  const own: string[] = []
  for (let at = 0; at < paths.length; at++) {
    const kind = OTHERS[at]!
    if (!kind.isWhole || (await isCompanion(paths[at]!, kind))) own[own.length] = paths[at]!
  }
  return own
}

/** The companions among the files of a directory whose sessions are gone, with what is in their names before the ending. */
export async function leftOverCompanions(
  directory: string,
  names: string[],
): Promise<{ filePath: string; name: string }[]> {
  const all = new Set(names)
  const found: { filePath: string; name: string }[] = []
  for (let index = 0; index < names.length; index++) {
    const fileName = names[index]!
    for (let at = 0; at < COMPANIONS.length; at++) {
      const kind = COMPANIONS[at]!
      const { ending, of } = kind
      if (!fileName.endsWith(ending)) continue
      const name = fileName.slice(0, -ending.length)
      if (of.some((end) => all.has(name + end))) continue
      const filePath = path.join(directory, fileName)
      if ((await areGone(of.map((end) => path.join(directory, name + end)))) && (await isCompanion(filePath, kind)))
        found[found.length] = { filePath, name }
    }
  }
  return found
}

async function areGone(filePaths: string[]): Promise<boolean> {
  for (let index = 0; index < filePaths.length; index++) {
    try {
      await fs.lstat(filePaths[index]!)
      return false
    } catch (error) {
      if (!isAbsence(error)) return false
    }
  }
  return true
}

async function isCompanion(filePath: string, { isWhole, isOne }: Companion): Promise<boolean> {
  let handle: fs.FileHandle | undefined
  try {
    const stat = await fs.lstat(filePath)
    if (!stat.isFile()) return false
    handle = await fs.open(filePath, 'r')
    const buffer = Buffer.alloc(Math.min(stat.size, isWhole ? LARGEST : BEGINNING))
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
    return isOne(buffer.toString('utf8', 0, bytesRead))
  } catch {
    return false
  } finally {
    await handle?.close().catch(() => {})
  }
}

/** Every version of a snapshot begins so. */
function isSnapshot(text: string): boolean {
  return text.startsWith('session-tape snapshot ')
}

/** The first line of a receipt counts the records of the source. */
function isReceipt(text: string): boolean {
  const { format, records, mapped, kept, dropped } = parse<
    Partial<Record<'format' | 'records' | 'mapped' | 'kept' | 'dropped', unknown>>
  >(text.split('\n', 1)[0]!)
  return typeof format === 'string' && [records, mapped, kept, dropped].every(Number.isSafeInteger)
}

const CONTENT_ID = /^sha256:[0-9a-f]{64}$/

function isMediaList(text: string): boolean {
  const list = parse<{ references?: unknown }>(text)
  if (!hasOnly(list, 'references') || !Array.isArray(list.references)) return false
  return (
    list.references.length > 0 &&
    list.references.every(
      (one: { contentId?: unknown }) =>
        hasOnly(one, 'contentId') && typeof one.contentId === 'string' && CONTENT_ID.test(one.contentId),
    )
  )
}

function hasOnly(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).join() === name
}
