import fs = require('node:fs/promises')
import { type Guarded, type HasGuard, PATIENCE, withGuard, withLinkedGuard } from './guard.js'
import { type LockFile, WRITE, contentOf, readLockFile, readLockFileNow, readOpened, isSameInode } from './lock-file.js'
import { guardPathOf } from './path.js'
import { bundlesToWrite } from '../binding/bundles.js'
import { hasCode, isAbsence } from '../system-error.js'
import { type Inode, unlock } from './system-lock.js'
import type { TemporaryFile } from './temporary-file.js'
import { locks, tokens } from './thread.js'

const LOOK_EVERY_MS = 5 * 60 * 1000
const RENEW_AFTER_MS = 60 * 60 * 1000

/**
 * The age of a lock up to which no program takes it over that judges locks by pid and time. Other programs ask the system, which says that the lock
 * is held.
 */
const UNCONTESTED_MS = 24 * 60 * 60 * 1000

/** A lock that was acquired. */
interface Acquired {
  /** Absolute. */
  path: string
  sessionId: string
  token: string
  /** The published file. */
  file: TemporaryFile
  /** The time in its content. */
  createdAt: number
}

/** A lock that this thread holds. A timer renews it until it is released, or its file is removed or replaced. */
export class HeldLock {
  #path: string
  #sessionId: string
  #token: string
  #inode: Inode
  /** The number of the system's lock on the file, or `null`. */
  #systemLock: number | null
  #onLost: (() => void) | undefined
  #renewedAt: number
  #clearTimer: () => void
  #hasEnded = false
  #released: Promise<void> | undefined
  /** The renewal or removal that was queued last. */
  #last: Promise<void> = Promise.resolve()

  constructor({ path, sessionId, token, file, createdAt }: Acquired) {
    this.#path = path
    this.#sessionId = sessionId
    this.#token = token
    this.#inode = { dev: file.dev, ino: file.ino }
    this.#systemLock = file.systemLock
    this.#renewedAt = createdAt
    this.#clearTimer = this.#schedule()
  }

  /** Whether the file has this lock's token. Never rejects. */
  async ownsLock(): Promise<boolean> {
    const file = await readLockFile(this.#path)
    return file !== null && this.#hasToken(file)
  }

  /** Removes the file, now or as soon as the guard can be acquired. Never rejects. */
  release(): Promise<void> {
    this.#released ??= this.#enqueue(() => this.#remove())
    return this.#released
  }

  /** The path of the lock file. */
  get path(): string {
    return this.#path
  }

  /** Releases the system's lock when the environment ends, once its jobs have cleaned up: the next acquisition then replaces the file. */
  endWithEnvironment(): void {
    if (this.#systemLock !== null) bundlesToWrite().releaseAtEnd(this.#systemLock)
  }

  /** Calls a function when the lock is found to be lost, unless it was released. */
  whenLost(onLost: () => void): void {
    this.#onLost = onLost
  }

  /** Whether the file is known to have been removed or replaced. */
  async isLost(): Promise<boolean> {
    const file = await readLockFile(this.#path)
    if (this.#isLostAs(file)) this.#tell()
    return file === null || this.#isAnother(file)
  }

  /** Looks on this thread whether the lock is lost. */
  lookNow(): void {
    const file = readLockFileNow(this.#path)
    if (file !== undefined && this.#isLostAs(file)) this.#tell()
  }

  /** Stops the renewals and releases the system's lock. The session can be locked again in this thread. */
  end(): Promise<void> {
    this.#hasEnded = true
    this.#clearTimer()
    tokens.delete(this.#token)
    if (locks.get(this.#path) === this) locks.delete(this.#path)
    const systemLock = this.#systemLock
    this.#systemLock = null
    return unlock(systemLock)
  }

  /**
   * Whether what was read is no longer this lock. On file systems whose inode numbers change, a file with the token is; where the system holds it,
   * the number cannot have changed.
   */
  #isLostAs(file: LockFile | null): boolean {
    if (file === null) return true
    return (
      file.bytes !== null && (!this.#hasToken(file) || (this.#systemLock !== null && !isSameInode(file, this.#inode)))
    )
  }

  #tell(): void {
    const onLost = this.#onLost
    this.#onLost = undefined
    if (this.#released === undefined) onLost?.()
  }

  #hasToken({ record }: LockFile): boolean {
    return record !== null && record.ownerToken === this.#token
  }

  /** A file that cannot be read may still be this lock. */
  #isAnother(file: LockFile): boolean {
    return file.ino !== null && (!isSameInode(file, this.#inode) || (file.bytes !== null && !this.#hasToken(file)))
  }

  /**
   * Schedules the next check, without keeping the process running. Returns a function that cancels it. Both timer functions are captured together: a
   * program may have replaced them, and restore them later.
   */
  #schedule(): () => void {
    const { setTimeout, clearTimeout } = globalThis
    const timer = setTimeout(() => this.#lookAndSchedule(), LOOK_EVERY_MS)
    // A browser's timer is a number.
    ;(timer as Partial<NodeJS.Timeout> | undefined)?.unref?.()
    return () => clearTimeout(timer)
  }

  async #lookAndSchedule(): Promise<void> {
    await this.#enqueue(() => this.#look())
    if (!this.#hasEnded) this.#clearTimer = this.#schedule()
  }

  async #look(): Promise<void> {
    if (await this.isLost()) await this.end()
    else if (this.#released !== undefined) await this.#remove()
    else if (Date.now() - this.#renewedAt >= RENEW_AFTER_MS) await this.#renew()
  }

  async #remove(): Promise<void> {
    if ((await this.isLost()) || (await this.#unlinkHeld()) || (await this.#unlinkGuarded())) await this.end()
  }

  /**
   * Removes the file without a guard, and so without creating another: no program may take over a lock that the system says is held, unless a program
   * that does not ask the system thinks that it is old. Resolves to whether it is removed.
   */
  async #unlinkHeld(): Promise<boolean> {
    if (this.#systemLock === null || Date.now() - this.#renewedAt >= UNCONTESTED_MS) return false
    if ((await readLockFile(guardPathOf(this.#path))) !== null) return false
    return this.#unlink(() => true)
  }

  async #unlinkGuarded(): Promise<boolean | undefined> {
    const unlink = (hasGuard: HasGuard) => this.#unlink(hasGuard)
    try {
      return await this.#guarded(PATIENCE.release, unlink)
    } catch (error) {
      if (!hasCode(error, 'ENOSPC') && !hasCode(error, 'EDQUOT')) throw error
      return withLinkedGuard(this.#path, this.#inode, unlink)
    }
  }

  /**
   * Runs one renewal or removal at a time. After a failure, for example because the disk is full or read-only, the next check by the timer tries
   * again.
   */
  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work).catch(() => {})
    return this.#last
  }

  #guarded<T>(patience: number, work: Guarded<T>): Promise<T | undefined> {
    return withGuard(this.#path, this.#sessionId, patience, work)
  }

  /** Resolves to whether the lock has ended. */
  async #unlink(hasGuard: HasGuard): Promise<boolean> {
    const file = await readLockFile(this.#path)
    if (file === null || this.#isAnother(file)) return true
    if (file.bytes === null || !(await hasGuard())) return false
    await fs.unlink(this.#path)
    return true
  }

  async #renew(): Promise<void> {
    if (await this.#guarded(PATIENCE.other, (hasGuard) => this.#rewrite(hasGuard))) await this.end()
  }

  /** Overwrites the content in place, with a new time. Resolves to whether the lock has ended. */
  async #rewrite(hasGuard: HasGuard): Promise<boolean> {
    let handle: fs.FileHandle
    try {
      handle = await fs.open(this.#path, WRITE)
    } catch (error) {
      if (!isAbsence(error)) throw error
      this.#tell()
      return true
    }
    try {
      const file = await readOpened(handle)
      if (this.#isLostAs(file)) this.#tell()
      if (this.#isAnother(file)) return true
      const now = Date.now()
      const content = contentOf(this.#sessionId, this.#token, now, this.#systemLock !== null)
      // Content of another length would leave part of the old content, and a reader could see it incomplete.
      if (file.bytes?.length !== content.length || !(await hasGuard())) return false
      await handle.write(content, 0, content.length, 0)
      this.#renewedAt = now
      return false
    } finally {
      await handle.close()
    }
  }
}
