/** Interruptions of the program, by Ctrl-C or a signal. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hasTerminal, PROGRAM, sessionTape } from '../support/command-line'
import { content, sessionDirectory, sessionOf } from '../support/session-file'

/** A session of about 40 MB, which takes seconds to compress at the highest level. */
function bigSession(): string {
  const filePath = join(sessionDirectory(), 'big.jsonl')
  if (existsSync(filePath)) return filePath
  const words = Array.from({ length: 5000 }, (_, i) => ((i * 2654435761) >>> 0).toString(36))
  const text = (i: number): string =>
    Array.from({ length: 200 }, (_, j) => words[(i * 7919 + j * j * 31) % words.length]).join(' ')
  writeFileSync(filePath, sessionOf(Array.from({ length: 28_000 }, (_, i) => content(text(i)))))
  return filePath
}

let fresh = 0
function emptyDirectory(): string {
  const path = join(sessionDirectory(), `empty-${++fresh}`)
  mkdirSync(path)
  return path
}

/** Calls `then` as soon as there is something in the directory. */
function whenFilled(directory: string, then: () => void): void {
  const timer = setInterval(() => {
    if (readdirSync(directory).length === 0) return
    clearInterval(timer)
    then()
  }, 2)
  timer.unref()
}

describe.skipIf(process.platform === 'win32')('an interruption', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('by %s stops work in progress, leaves nothing behind and ends with %i', async (signal, code) => {
    const directory = emptyDirectory()
    const path = join(directory, 'big.cath-bundle.tar.zst')
    const ended = await sessionTape(['bundle', 'export', bigSession(), path, '--level', '22', '--json'], {
      onStart: (child) => whenFilled(directory, () => child.kill(signal)),
    })
    expect(ended).toEqual({ code, signal: null, stdout: '', stderr: '' })
    expect(readdirSync(directory)).toEqual([])
  })

  test('stops a stream of events', async () => {
    let interrupted = false
    const ended = await sessionTape(['trace', bigSession(), '--events', '--json'], {
      onOutput: (child) => {
        if (!interrupted) child.kill('SIGINT')
        interrupted = true
      },
    })
    expect(ended).toMatchObject({ code: 130, stderr: '' })
    expect(ended.stdout.length).toBeLessThan(20 << 20)
  })

  test('removes unpacked files', async () => {
    const archive = join(sessionDirectory(), 'unpacked.cath-bundle.tar.zst')
    expect(await sessionTape(['bundle', 'export', bigSession(), archive])).toMatchObject({ code: 0 })
    const temporary = emptyDirectory()
    let interrupted = false
    const ended = await sessionTape(['trace', archive, '--events', '--json'], {
      env: { TMPDIR: temporary },
      onOutput: (child) => {
        if (!interrupted) {
          expect(readdirSync(temporary)).toHaveLength(1)
          child.kill('SIGINT')
        }
        interrupted = true
      },
    })
    expect(ended).toMatchObject({ code: 130, stderr: '' })
    expect(readdirSync(temporary)).toEqual([])
  })

  test.skipIf(!hasTerminal)(
    'with Ctrl-C on a terminal removes the progress bar and restores the cursor (needs util-linux script)',
    async () => {
      const directory = emptyDirectory()
      const path = join(directory, 'big.cath-bundle.tar.zst')
      const command = [process.execPath, PROGRAM, 'bundle', 'export', bigSession(), path, '--level', '22'].join(' ')
      const { PATH = '' } = process.env
      const child = spawn('script', ['-qec', command, '/dev/null'], {
        env: { PATH, TERM: 'xterm' },
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      let output = ''
      let interrupted = false
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text
        if (interrupted || !/exporting .*%/.test(output)) return
        interrupted = true
        child.stdin.write('\u0003')
      })
      const code = await new Promise((resolve) => child.on('close', resolve))
      expect({ code, interrupted }).toEqual({ code: 130, interrupted: true })
      expect(output.lastIndexOf('\u001b[?25h')).toBeGreaterThan(output.lastIndexOf('\u001b[?25l'))
      expect(readdirSync(directory)).toEqual([])
    },
  )
})
