/**
 * The power is cut while a process acquires, takes over, renews, releases or cleans up session locks: whichever of its changes have reached the
 * disk, the lock never blocks the session for good. First on a simulated disk: the changes of the directory up to then, which nothing syncs, have
 * happened or not, each independently. Then on a real kernel, whose file system is shut down; that needs root, loop devices and a C compiler.
 *
 * `LOCK_STATES` is the number of states that are tried of each operation. With `LOCK_CUTS`, all operations are tried on all file systems.
 */
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { directoryOf } from '../support/file-directory'
import { expectLockable, OPERATIONS, stoppedAtEachStep } from '../support/lock-operations'
import { test } from '../support/property'
import { type Change, HOUR, LockProcess } from '../support/session-locks'
import { atEndOfSpec } from '../support/spec-scope'

const MAX_STATES = Number(process.env.LOCK_STATES ?? 12)

// ---- A simulated disk ---------------------------------------------------------------------------

/** A file, whatever its names: its possible contents after a cut, and its last modification before. */
interface Inode {
  contents: (string | null)[]
  modified?: Date
}

/** The names in a directory after a cut, each with the number of its file; `null` if there is no directory. */
type Names = ReadonlyMap<string, number> | null

/** A change of the directory that may have reached the disk or not. */
type EntryChange = (names: Names) => Names

/** A disk on which nothing but the content of files is ever synced. */
class Disk {
  readonly inodes: Inode[] = []
  readonly #durable: Names
  /** What programs see. */
  #current: Names
  readonly #pending: EntryChange[] = []

  constructor(readonly chats: string) {
    const byNumber = new Map<bigint, number>()
    const names = existsSync(chats) ? new Map<string, number>() : null
    for (const name of names === null ? [] : readdirSync(chats)) {
      const { ino, mtime } = statSync(join(chats, name), { bigint: true })
      if (!byNumber.has(ino))
        byNumber.set(
          ino,
          this.inodes.push({ contents: [readFileSync(join(chats, name), 'utf8')], modified: mtime }) - 1,
        )
      names!.set(name, byNumber.get(ino)!)
    }
    this.#durable = this.#current = names
  }

  apply([what, path, more]: Change): void {
    if (what === 'write' || what === 'sync') return this.#changeContent(what, this.#inodeAt(path), more)
    const change = this.#entryChange(what, path, more)
    this.#pending.push(change)
    this.#current = change(this.#current)
  }

  #inodeAt(path: string): number {
    return this.#current!.get(basename(path))!
  }

  /** Content that is not synced may be missing, zeros or complete; an existing file has the old or the new content, which fits into one sector. */
  #changeContent(what: 'write' | 'sync', inode: number, written = ''): void {
    const { contents } = this.inodes[inode]!
    if (what === 'sync') this.inodes[inode] = { contents: contents.slice(-1) }
    else
      this.inodes[inode] = {
        contents: contents.length === 1 && contents[0] !== '' ? [contents[0]!, written] : ['', null, written],
      }
  }

  #entryChange(what: string, path: string, more?: string): EntryChange {
    if (what === 'mkdir') return (names) => (path === this.chats ? (names ?? new Map()) : names)
    const [name, target] = [basename(path), basename(more ?? '')]
    const inode = what === 'create' ? this.inodes.push({ contents: [''] }) - 1 : this.#inodeAt(path)
    if (what === 'create') return (names) => names && new Map(names).set(name, inode)
    if (what === 'link') return (names) => names && new Map(names).set(target, inode)
    expect(what).toBe('unlink')
    return (names) => names && new Map([...names].filter(([other]) => other !== name))
  }

  /** All states of the directory that are possible if the power is cut now. */
  states(): Map<string, { names: Names; contents: (string | null)[] }> {
    let all = new Map([[shown(this.#durable), this.#durable]])
    for (const change of this.#pending) {
      const changed = [...all.values()].map((names) => change(names))
      all = new Map([...all, ...changed.map((names) => [shown(names), names] as const)])
    }
    const states = new Map<string, { names: Names; contents: (string | null)[] }>()
    for (const names of all.values()) {
      for (const contents of this.#contentsOf([...new Set(names?.values() ?? [])]))
        states.set(shown(names) + JSON.stringify(contents), { names, contents })
    }
    return states
  }

  /** All combinations of the possible contents of these files. */
  #contentsOf(inodes: number[]): (string | null)[][] {
    let all: (string | null)[][] = [[]]
    for (const inode of inodes) {
      all = all.flatMap((contents) =>
        this.inodes[inode]!.contents.map((content) => Object.assign([...contents], { [inode]: content })),
      )
    }
    return all
  }

  /** Creates a directory in one of the states. Returns its path. */
  make({ names, contents }: { names: Names; contents: (string | null)[] }): string {
    const chats = join(directoryOf(), 'chats')
    if (names === null) return chats
    mkdirSync(chats)
    const first = new Map<number, string>()
    for (const [name, inode] of names) {
      const path = join(chats, name)
      if (first.has(inode)) {
        linkSync(first.get(inode)!, path)
        continue
      }
      first.set(inode, path)
      writeFileSync(path, contents[inode] ?? '')
      if (contents[inode] === null) truncateSync(path, 150)
      const { modified } = this.inodes[inode]!
      if (modified !== undefined) utimesSync(path, modified, modified)
    }
    return chats
  }
}

const shown = (names: Names): string => JSON.stringify(names && [...names].sort())

/** Tries states of a disk whose power is cut before or after any of these changes. Resolves to the number of all states. */
async function tryStates(disk: Disk, changes: Change[]): Promise<number> {
  const states = disk.states()
  for (const change of changes) {
    disk.apply(change)
    disk.states().forEach((state, key) => states.set(key, state))
  }
  const all = [...states.values()]
  const every = Math.max(1, Math.ceil(all.length / MAX_STATES))
  const wanted = all.filter((_, at) => at % every === every - 1 || at === all.length - 1).values()
  const workers = Array.from({ length: 4 }, async () => {
    for (const state of wanted) await expectLockable(disk.make(state), state)
  })
  await Promise.all(workers)
  return all.length
}

test.each(Object.entries(OPERATIONS))(
  'a power cut at any moment of %s leaves a session that can be locked',
  async (name, { prepare, begin, command, rest = 0 }) => {
    const [victim, chats] = [new LockProcess(), join(directoryOf(), 'chats')]
    prepare?.(chats)
    await begin?.(victim, chats)
    await new Promise((resolve) => setTimeout(resolve, rest))
    const disk = new Disk(chats)
    await victim.changes()
    await victim.ask('begin', chats, 1000, ...command(chats))
    const changes = await victim.changes()
    await victim.kill()
    const states = await tryStates(disk, changes)
    if (process.env.LOCK_STATES) console.log(`${name}: ${changes.length} changes and syncs, ${states} states`)
    expect(states).toBeGreaterThan(1)
  },
)

test('a power cut at any moment of renewing leaves a session that can be locked', async () => {
  const [victim, chats] = [new LockProcess(), directoryOf()]
  await victim.acquire(chats)
  const disk = new Disk(chats)
  await victim.changes()
  await victim.ask('shiftClock', 2 * HOUR)
  await victim.ask('look')
  const changes = await victim.changes()
  await victim.kill()
  const states = await tryStates(disk, changes)
  if (process.env.LOCK_STATES) console.log(`renewing: ${changes.length} changes and syncs, ${states} states`)
  expect(changes.filter(([what, path]) => what === 'write' && path.endsWith('.lock'))).toHaveLength(1)
})

// ---- A real kernel ------------------------------------------------------------------------------

const shutdown = join(directoryOf(), 'file-system-shutdown')
const run = (command: string, ...args: string[]): boolean => spawnSync(command, args, { stdio: 'ignore' }).status === 0
const source = fileURLToPath(new URL('../support/file-system-shutdown.c', import.meta.url))
const canMount =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  existsSync('/dev/loop-control') &&
  run('cc', '-o', shutdown, source)

/** A file system on a loop device. */
class Mounted {
  readonly at = directoryOf()
  readonly #image = join(dirname(this.at), `${basename(this.at)}.image`)
  readonly #options: string

  constructor(make: string[], options: string, size: number) {
    this.#options = `loop,${options}`
    writeFileSync(this.#image, '')
    truncateSync(this.#image, size)
    this.isMounted = run(make[0]!, ...make.slice(1), this.#image) && this.#mount()
  }

  isMounted: boolean
  #directories = 0

  newDirectory = (): string => {
    const directory = join(this.at, String(++this.#directories))
    mkdirSync(directory)
    return directory
  }

  #mount(): boolean {
    return run('mount', '-o', this.#options, this.#image, this.at)
  }

  /** Syncs everything to the disk. */
  sync(): void {
    expect(run('sync', '-f', this.at)).toBe(true)
  }

  /** Cuts the power. */
  shutDown(flag: number): void {
    expect(run(shutdown, this.at, String(flag))).toBe(true)
  }

  /** Mounts the file system again, as a machine does when it has power again. */
  async restart(): Promise<void> {
    expect(run('umount', this.at)).toBe(true)
    // A process that has just got a mount namespace of its own keeps the file system mounted until it ends.
    for (let tries = 0; tries < 600 && spawnSync('losetup', ['-j', this.#image]).stdout.length > 0; tries++)
      await new Promise((resolve) => setTimeout(resolve, 50))
    expect(this.#mount()).toBe(true)
  }

  end(): void {
    // A failed test may have left files on it in use.
    if (this.isMounted && !run('umount', this.at)) run('umount', '-l', this.at)
    this.isMounted = false
  }
}

const FILE_SYSTEMS: [name: string, make: string[], options: string, size: number][] = [
  ['ext4', ['mkfs.ext4', '-q', '-F'], 'data=ordered', 16 << 20],
  ['XFS', ['mkfs.xfs', '-q', '-f'], 'defaults', 320 << 20],
]

describe.skipIf(!canMount)('on a real kernel (needs root, loop devices and a C compiler)', () => {
  const all = process.env.LOCK_CUTS !== undefined

  test.each(FILE_SYSTEMS.slice(0, all ? undefined : 1))(
    '%s that is shut down at each step leaves sessions that can be locked',
    async (name, make, options, size) => {
      const disk = new Mounted(make, options, size)
      atEndOfSpec(() => disk.end())
      // There may be no program that creates such a file system.
      if (!disk.isMounted) return console.log(`skipped: no ${name} could be mounted`)
      const usual = ['taking over', 'releasing with a guard of a dead process']
      for (const [operation, steps] of Object.entries(OPERATIONS).filter(
        ([operation]) => all || usual.includes(operation),
      )) {
        // The second time with the journal, so that all changes of directories are on the disk.
        for (const flag of [2, 1]) {
          const victim = new LockProcess()
          // The operation's initial state is synced; its changes may or may not have reached the disk.
          const stopped = await stoppedAtEachStep(victim, steps, disk.newDirectory, () => disk.sync())
          disk.shutDown(flag)
          await victim.kill()
          await disk.restart()
          await Promise.all(stopped.map(({ chats }, at) => expectLockable(chats, [operation, flag, at])))
        }
      }
      disk.end()
    },
  )
})
