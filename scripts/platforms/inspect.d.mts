import type { Expected } from './targets.mjs'

/** What is in an addon. */
export interface Facts extends Expected {
  exports: string[]
  runPaths: string[]
  /** Those of the texts looked for that it holds. */
  texts: string[]
  timestamp: number
  size: number
  sha256: string
}

export function canInspect(): boolean
export function inspect(path: string, texts: string[]): Facts
export function problemsOf(facts: Facts, expected: Expected): string[]
