// The locks of an operation on names: the project's name lock, and those of sessions. They are released together.

import type { SessionLock } from '../locks/handle.js'
import { SessionLockedError } from '../locks/locked-error.js'
import { acquireSessionLock, sessionLockPath } from '../locks/session-lock.js'
import { readLockFile } from '../locks/lock-file.js'
import { isStale } from '../locks/staleness.js'
import { elapsed, wait } from '../locks/waiting.js'
import { lockError } from './lock-error.js'

/** How long to wait for a process that has the name lock, in milliseconds. Processes have it only while they give one name. */
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
    const patience: Patience = { holder: null, deadline: elapsed() + PATIENCE_MS }
    for (;;) {
      try {
        this.#add(id, await acquireSessionLock(this.#chatsDir, id))
        return
      } catch (error) {
        const mayWait = error instanceof SessionLockedError && (await this.#becomesFree(id, patience))
        if (!mayWait) throw lockError(id, error)
      }
    }
  }

  /**
   * Waits until the lock appears to be free. Another process may still acquire it first. Resolves to `false` if one has it for too long: where many give
   * names, or the machine is busy, each has its turn.
   */
  async #becomesFree(id: string, patience: Patience): Promise<boolean> {
    while (elapsed() < patience.deadline) {
      await wait(10 + Math.random() * 20)
      const holder = await holderOf(sessionLockPath(this.#chatsDir, id))
      if (holder === null) return true
      if (holder !== patience.holder) Object.assign(patience, { holder, deadline: elapsed() + PATIENCE_MS })
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

/** Whom a wait is for, as far as it is known, and until when. */
interface Patience {
  holder: unknown
  deadline: number
}

/** What distinguishes a holder of a lock from the next one; `null` if it is free. */
async function holderOf(lockPath: string): Promise<unknown> {
  const file = await readLockFile(lockPath)
  if (file === null || (await isStale(lockPath, file, true))) return null
  return file.record?.ownerToken ?? file.ino
}
