// Tests that are known to fail under Bun, with the reason: `npm run test:bun` fails on any other difference. Each is given by its spec and the
// beginning of its full name. docs/bundlers.md describes what users notice of these differences.

const ENVIRONMENT =
  'what a program changes in process.env, native code does not see: the temporary directory is that with which the process began'
const GARBAGE = 'the test asks for a garbage collection by a flag of V8'
const WORKERS = 'process.exit does not wait for what workers recorded'
const WORDING = 'the message is compared with the one of the runtime, and Bun words it otherwise'
const PRINTED = 'the test compares what Node.js prints, or the name of the runtime'
const TIMING = 'on a busy machine too few of the children are killed while they are at work'
const REFUSED = 'Bun itself aborts where it can start no thread'
const ENGINE = 'a limit or a habit of JavaScriptCore: longer strings, a stack of another depth, no statistics of V8'

export const DIFFERENCES = [
  [
    'bundle/bundle-readers.spec.ts',
    'b.cath-bundle.tar.zst of a session is opened, its items read on demand',
    ENVIRONMENT,
  ],
  ['bundle/bundle-readers.spec.ts', 'b.cath-bundle.tar.zst an iteration that is left early', ENVIRONMENT],
  ['bundle/bundle-readers.spec.ts', 'a bundle that does not verify where nothing can be unpacked', ENVIRONMENT],
  ['bundle/bundle-readers.spec.ts', 'unpacked files are removed when the process ends (Linux)', ENVIRONMENT],
  ['slow/bundle-faults.spec.ts', 'a disk that is full (needs a mount name space) an import, and a replay', ENVIRONMENT],
  ['slow/bundle-faults.spec.ts', 'a process that ends (Linux) by process.exit in the midst', ENVIRONMENT],
  ['bundle/bundle-events.spec.ts', 'closing a bundle removes its files while the event loop goes on', ENVIRONMENT],
  ['bundle/bundle-events.spec.ts', 'an abort while a bundle is opened stops that', ENVIRONMENT],
  [
    'session/read-session-records.spec.ts',
    'a bundle is verified, and has the lines of its session (b.cath-bundle.tar.zst)',
    ENVIRONMENT,
  ],
  [
    'session/work-system-errors.spec.ts',
    'a call that fails (needs Linux and a C compiler) in an export, an import, a fork or a checkpoint',
    ENVIRONMENT,
  ],
  ['session/replay-read-errors.spec.ts', "Node's own wording ENOENT: a directory on the way is missing", WORDING],
  ['session/replay-read-errors.spec.ts', "Node's own wording ENAMETOOLONG", WORDING],
  ['session/replay-read-errors.spec.ts', "Node's own wording a path with a NUL in it", WORDING],
  ['slow/replay-laid-out.spec.ts', 'memory that JavaScript reads in place is given back', GARBAGE],
  ['slow/record-exclusive.spec.ts', 'the end of an owner forgotten', GARBAGE],
  ['session/open-session.spec.ts', 'descriptors none when handles that nobody closed are collected', GARBAGE],
  ['slow/names-race.spec.ts', 'of several processes that save, rename, overwrite and delete', TIMING],
  [
    'slow/record-endings.spec.ts',
    '5 000 records that nobody awaits are all in the file when the process has ended process.exit while a worker records',
    WORKERS,
  ],
  [
    'slow/record-endings.spec.ts',
    'a process with a recorder ends by itself but not before its warning has been given',
    WORKERS,
  ],
  [
    'session/replay-strings.property.spec.ts',
    'properties of a value that programs can observe besides its content',
    ENGINE,
  ],
  ['slow/replay-huge.spec.ts', 'with a few gigabytes to spare a message that no string can hold', ENGINE],
  ['cli/cli-parts.spec.ts', 'a value as JSON may be nested deeper than the stack is', ENGINE],
  ...['api-9', 'find-1', 'bundle-bundle-d-ts-3'].map((example) => [
    'package/documentation.spec.ts',
    `every example '${example}' runs as its comments say`,
    PRINTED,
  ]),
  [
    'package/refused-threads.spec.ts',
    'where the system refuses threads (skipped unless root can limit another user)',
    REFUSED,
  ],
  ['slow/bench.spec.ts', '', PRINTED],
  ['slow/package.spec.ts', 'the installed package records, resumes and replays', PRINTED],
]
