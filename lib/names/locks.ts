// The locks of an operation on names: the project's name lock, and those of sessions. They are released together.

import type { SessionLock } from '../locks/handle.js'
import { SessionLockedError } from '../locks/locked-error.js'
import { acquireSessionLock, sessionLockPath } from '../locks/session-lock.js'
import { readLockFile } from '../locks/lock-file.js'
import { isStale } from '../locks/staleness.js'
import { elapsed, wait } from '../locks/waiting.js'
import { lockError } from './lock-error.js'

/** How long to wait for a busy name lock, in milliseconds. Other processes hold it only while they give one name. */
const PATIENCE_MS = 2000

export class Locks {
  #chatsDir: string
  #held: SessionLock[] = []
  #ids = new Set<string>()

  constructor(chatsDir: string) {
    this.#chatsDir = chatsDir
  }

  /** Whether the session is locked here. */
  has(sessionId: string): boolean {
    return this.#ids.has(sessionId)
  }

  /** Locks a session, unless it is locked here already. */
  async acquire(sessionId: string): Promise<void> {
    if (this.has(sessionId)) return
    try {
      this.#add(sessionId, await acquireSessionLock(this.#chatsDir, sessionId))
    } catch (error) {
      throw lockError(sessionId, error)
    }
  }

  /** Acquires the name lock of a project. */
  async acquireNames(projectHash: string): Promise<void> {
    const id = `checkpoint-namespace-${projectHash}`
    const deadline = elapsed() + PATIENCE_MS
    for (;;) {
      try {
        this.#add(id, await acquireSessionLock(this.#chatsDir, id))
        return
      } catch (error) {
        const mayWait = error instanceof SessionLockedError && (await this.#becomesFree(id, deadline))
        if (!mayWait) throw lockError(id, error)
      }
    }
  }

  /** Waits until the lock appears to be free. Another process may still acquire it first. Resolves to `false` after the deadline. */
  async #becomesFree(id: string, deadline: number): Promise<boolean> {
    while (elapsed() < deadline) {
      await wait(10 + Math.random() * 20)
      if (!(await isHeld(sessionLockPath(this.#chatsDir, id)))) return true
    }
    return false
  }

  #add(id: string, lock: SessionLock): void {
    this.#held.push(lock)
    this.#ids.add(id)
  }

  /** Releases all locks in reverse order. Never rejects. */
  async release(): Promise<void> {
    for (let index = this.#held.length - 1; index >= 0; index--) await this.#held[index]!.release()
    this.#held.length = 0
    this.#ids.clear()
  }
}

async function isHeld(lockPath: string): Promise<boolean> {
  const file = await readLockFile(lockPath)
  return file !== null && !(await isStale(lockPath, file, true))
}
