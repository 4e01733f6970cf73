// Directories with given files, for specs that list them; removed at the end of the spec file.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { directoryOfSpec } from './spec-scope'

/** The parent of these directories. */
export const root = directoryOfSpec('session-tape-files-')

let directories = 0

/** A new directory with these files in it. */
export function directoryOf(files: Record<string, string | Uint8Array> = {}): string {
  const directory = join(root(), String(++directories))
  mkdirSync(directory, { mode: 0o755 })
  for (const [name, data] of Object.entries(files)) writeFileSync(join(directory, name), data)
  return directory
}
