// The pages of formats: the text of one, its examples, and what recomputes them with nothing but Node's hashes.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** A page of `docs`, and the text of its only code block with an info string. */
export function formatPage(name: string): { page: string; block: (info: string) => string } {
  const page = readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')
  const blocks = [...page.matchAll(/^```(\S+(?: \S+)?)\n([\s\S]*?)\n```$/gm)]
  const block = (wanted: string): string => {
    const found = blocks.filter(([, info]) => info === wanted)
    if (found.length !== 1) throw new Error(`${found.length} blocks are called '${wanted}'`)
    return found[0]![2]!
  }
  return { page, block }
}

export const sha256 = (...parts: (string | Buffer)[]): string =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex')

/** Canonical JSON: sorted keys, no white space. The keys of examples are ASCII, which every order of strings sorts the same way. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`
}
