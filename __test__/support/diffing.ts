// Recordings that are compared: pairs of runs and of sessions in real files.

import { rmSync } from 'node:fs'
import { diff } from '../../index.js'
import type { Diff, DiffOptions } from '../../index.js'
import type { PlainRun } from './plain-run-engine.mjs'
import { freshPath } from './run-directory.js'
import { writeSession } from './session-file.js'

/** Compares two runs. */
export async function diffRuns(left: PlainRun, right: PlainRun, options?: DiffOptions): Promise<Diff | null> {
  const paths = [left.write(freshPath()), right.write(freshPath())] as const
  try {
    return await diff(...paths, options)
  } finally {
    for (const path of paths) rmSync(path, { recursive: true })
  }
}

/** Compares two sessions, given as texts. */
export async function diffSessions(left: string, right: string, options?: DiffOptions): Promise<Diff | null> {
  const paths = [writeSession(left), writeSession(right)] as const
  try {
    return await diff(...paths, options)
  } finally {
    for (const path of paths) rmSync(path)
  }
}

/** Returns a diff. Throws if there is none. */
export function parted(found: Diff | null): Diff {
  if (found === null) throw new Error('expected two recordings that differ')
  return found
}

/** The error with which a promise rejects. Throws if it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  return promise.then(
    (value) => {
      throw new Error(`expected a rejection, found ${JSON.stringify(value)}`)
    },
    (error: unknown) => error as Error & Record<string, unknown>,
  )
}
