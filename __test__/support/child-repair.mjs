// Damages a session as a program without a recorder does: by appending lines to its file. The argument is a JSON object; the report says what the
// file has now.
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const { repairSession } = createRequire(import.meta.url)('../../index.js')
const { scenario, directory, lines } = JSON.parse(process.argv[2])
const filePath = join(directory, 'session-2026-02-11T16-00-abcdefgh.jsonl')

const scenarios = {
  /** An append that a full disk cuts off, and the next one, for which there is room again. */
  async fullDisk() {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'none', directory])
    const [start, first, long, ...rest] = lines
    appendFileSync(filePath, `${start}\n${first}\n`)
    const { bavail, bsize } = statfsSync(directory)
    writeFileSync(join(directory, 'filler'), Buffer.alloc((bavail - 4) * bsize))
    let code
    try {
      appendFileSync(filePath, `${long}\n`)
    } catch (error) {
      ;({ code } = error)
    }
    rmSync(join(directory, 'filler'))
    for (const line of rest) appendFileSync(filePath, `${line}\n`)
    const damaged = readFileSync(filePath, 'utf8')
    const destination = join(directory, 'repaired.jsonl')
    const receipt = await repairSession(filePath, destination)
    console.log(JSON.stringify({ code, damaged, receipt, repaired: readFileSync(destination, 'utf8') }))
  },

  /** Killed in the middle of an append that takes two writes. */
  killed() {
    const file = openSync(filePath, 'a')
    for (const line of lines.slice(0, -1)) writeSync(file, `${line}\n`)
    writeSync(file, lines.at(-1).slice(0, 100))
    process.kill(process.pid, 'SIGKILL')
    closeSync(file)
  },
}

await scenarios[scenario]()
