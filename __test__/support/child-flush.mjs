/**
 * The cost and the guarantee of a flush, observed from outside: counts the write calls of this process, or prints
 * marks between which a tracer looks for syncs. Arguments: job, directory.
 */
import { readFileSync, writeSync } from 'node:fs'
import tape from '../../index.js'

const [job, chatsDir] = process.argv.slice(2)
const content = (text) => ({ speaker: 'ai', blocks: [{ type: 'text', text }] })
const recorder = (durability) =>
  new tape.SessionRecordingService({
    sessionId: 'flushed',
    projectHash: 'a3f5c1',
    chatsDir,
    workspaceDirs: [],
    provider: 'p',
    model: 'm',
    durability,
  })
const writeCalls = () => Number(/^syscw: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))[1])

const jobs = {
  /** Buffers 5 000 records, which the first content hands over at once. */
  async waiting() {
    const service = recorder()
    for (let i = 0; i < 5000; i++) service.enqueue('note', { i })
    const before = writeCalls()
    service.recordContent(content('now'))
    await service.flush()
    console.log(JSON.stringify({ writes: writeCalls() - before, path: service.getFilePath() }))
  },

  async durable() {
    const service = recorder('fsync')
    service.recordContent(content('first'))
    await service.flush()
    for (let round = 0; round < 3; round++) {
      writeSync(1, `begin ${round}\n`)
      const flushes = []
      for (let i = 0; i < 64; i++) {
        service.recordContent(content(`${round}-${i}`))
        flushes.push(service.flush())
      }
      await Promise.all(flushes)
      writeSync(1, `flushed ${round}\n`)
    }
    await service.dispose()
  },
}

await jobs[job]()
