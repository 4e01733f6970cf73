import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/**
 * In a fresh clone vitest does not know how long each spec takes, and orders them by the size of their files. A long spec that starts last would leave
 * the other cores idle.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification): boolean => moduleId.includes('/__test__/slow/')
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

const typecheck = {
  enabled: true,
  include: ['__test__/**/*.test-d.ts'],
  tsconfig: './tsconfig.json',
  // `npm run typecheck` reports errors in other files.
  ignoreSourceErrors: true,
}

/** Specs that need a process of their own: they import `on-disk.ts`, replace modules, or change state that is global to the process. */
const APART = [
  'slow/archive-race',
  'slow/replay-huge',
  'session/header*',
  'session/record-durable',
  'session/resume-cursor',
].map((name) => `__test__/${name}.spec.ts`)

/** What `npm test` leaves to CI. */
const LEFT_OUT = process.env['TESTS'] === 'fast' ? ['__test__/slow/**'] : []

const SPECS = ['__test__/**/*.spec.ts', 'examples/*/test/*.spec.ts']

export default defineConfig({
  // The examples import the package by its name, as in a project of their own.
  resolve: { alias: { 'session-tape': fileURLToPath(new URL('index.mjs', import.meta.url)) } },
  test: {
    // Starting a process and loading the same modules again takes as long as many specs do.
    projects: [
      { extends: true, test: { name: 'apart', include: APART, exclude: LEFT_OUT, isolate: true } },
      {
        extends: true,
        test: { name: 'together', include: SPECS, exclude: [...APART, ...LEFT_OUT], isolate: false, typecheck },
      },
    ],
    setupFiles: '__test__/support/end-of-spec.ts',
    sequence: { sequencer: LongestFirst },
    globalSetup: '__test__/support/temporary-root.ts',
    // Processes, not threads: some tests change the umask, the user or the working directory, or end the process.
    pool: 'forks',
    // Properties make much garbage that does not live long: with more room for it, it is collected in a tenth less time.
    execArgv: ['--max-semi-space-size=32'],
    // Two more than there are cores, since many specs wait for a child, a lock or a disk. The default is one less than there are cores.
    maxWorkers: availableParallelism() + 2,
    // Limits against a hang, not expectations: a busy two-core machine takes its time.
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
})
