/**
 * Commits while the system fails (`system-faults.c`), or ends with commits that nobody settles. Prints one JSON line. Arguments: the directory, the
 * ending.
 */
import tape from '../../index.js'

const [chatsDir, ending] = process.argv.slice(2)
const unhandled = []
process.on('unhandledRejection', (reason) => unhandled.push(String(reason)))
const warnings = []
const recorder = new tape.SessionRecordingService({
  sessionId: 'commits',
  projectHash: 'h',
  chatsDir,
  workspaceDirs: [],
  provider: 'p',
  model: 'm',
  durability: 'fsync',
  maxQueueBytes: 2000,
  onWarning: (warning) => warnings.push(warning.code),
})
const content = (text) => ({ content: { speaker: 'ai', blocks: [{ type: 'text', text }] } })
const say = (report) => process.stdout.write(`${JSON.stringify({ path: recorder.getFilePath(), ...report })}\n`)

async function faults() {
  const settled = []
  for (let batch = 0; batch < 4; batch++) {
    const commits = Array.from({ length: 1 + batch * 3 }, (_, at) =>
      recorder.commit('content', content(`${batch}.${at} ${'x'.repeat(at * 100)}`)),
    )
    settled.push(...(await Promise.allSettled(commits)))
  }
  await recorder.dispose()
  say({
    warnings,
    unhandled,
    commits: settled.map(({ value, reason }) => (value ? [value.seq, value.byteOffset] : reason.code)),
  })
}

const endings = {
  undefined: faults,
  /** Nothing else keeps the process running. */
  awaited: async () => say(await recorder.commit('content', content('awaited'))),
  /** It waits for a file that never comes, and must not keep the process running. */
  buffered: () => {
    recorder.commit('note', 1)
    say({})
  },
  /** More than there is room for. */
  exit: () => {
    for (let i = 0; i < 50; i++) recorder.commit('content', content(`${i} ${'y'.repeat(500)}`))
    say({})
    process.exit(0)
  },
}
await endings[ending]()
