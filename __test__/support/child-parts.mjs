/** What the programs of children share: the settings of a recorder, what is recorded, and a file system of their own. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'

export const configOf = (chatsDir, more) => ({
  sessionId: 'child',
  projectHash: 'h',
  chatsDir,
  workspaceDirs: [],
  provider: 'p',
  model: 'm',
  ...more,
})

export const said = (text) => ({ speaker: 'ai', blocks: [{ type: 'text', text }] })

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Mounts a file system of this size. The process has a name space of its own for it. */
export function mountTmpfs(directory, size) {
  mkdirSync(directory, { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', directory])
}
