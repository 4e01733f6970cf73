/** The program as a whole: help, usage, exit codes, unreadable paths, pipes, colours. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  complaintOf,
  errorOf,
  GOLDEN_RUN,
  hasTerminal,
  onTerminal,
  PROGRAM,
  PROJECT,
  run,
  SAMPLE,
  sessionTape,
  shown,
} from '../support/command-line'
import { unprivileged } from '../support/processes'
import { content, session, sessionDirectory, sessionOf, writeSession } from '../support/session-file'

const COMMANDS = ['inspect', 'replay', 'verify', 'trace', 'diff', 'bundle', 'header', 'sessions', 'completion']
const BUNDLE_COMMANDS = ['export', 'verify', 'import']
const { version } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as { version: string }

/** A call of each command that takes one path. */
const CALLS = [['inspect'], ['replay'], ['verify'], ['trace', '--events'], ['header'], ['bundle', 'verify']]

describe('help', () => {
  test('of the program names every command and every exit code', async () => {
    const help = await shown(['--help'])
    for (const command of COMMANDS) expect(help).toMatch(new RegExp(`^  ${command} `, 'm'))
    for (const code of [0, 1, 2, 130]) expect(help).toMatch(new RegExp(`^  ${code} `, 'm'))
    expect(await shown(['help'])).toBe(help)
    expect(await shown(['-h'])).toBe(help)
  })

  test.each(
    COMMANDS.filter((name) => !['bundle', 'completion'].includes(name))
      .map((name) => [[name]])
      .concat(BUNDLE_COMMANDS.map((name) => [['bundle', name]])),
  )('of %s has examples, all of which the program accepts', async (command) => {
    const help = await shown([...command, '--help'])
    const examples = [...help.matchAll(/^ {2}(session-tape .*)$/gm)].map(([, line]) =>
      line!.replace(/\s+#.*|[|&].*/g, '').trim(),
    )
    expect(examples.length).toBeGreaterThan(1)
    for (const example of examples) {
      expect(example).toContain(`session-tape ${command.join(' ')} `)
      // The files of the examples do not exist in this directory.
      const ended = await run(
        'sh',
        ['-c', `"${process.execPath}" "${PROGRAM}" ${example.replace('session-tape ', '')}`],
        { cwd: sessionDirectory() },
      )
      expect(ended.stderr + ended.stdout).toMatch(/there is nothing at|no such file/)
      expect(ended.code).toBe(2)
    }
  })

  test('of bundle names its commands', async () => {
    const help = await shown(['bundle', '--help'])
    for (const command of BUNDLE_COMMANDS) expect(help).toMatch(new RegExp(`^  ${command} `, 'm'))
  })

  test('does not need the addon', async () => {
    const blocked = { execArgv: ['--no-addons'] }
    expect(await shown(['--version'], blocked)).toBe(`${version}\n`)
    expect(await shown(['inspect', '--help'], blocked)).toContain('Usage: session-tape inspect')
    expect(await shown(['completion', 'zsh'], blocked)).toMatch(/^#compdef session-tape\n/)
    expect(await complaintOf(['inspect', SAMPLE], 2, blocked)).toContain("the addon can't be loaded")
  })
})

describe('wrong usage', () => {
  test.each([
    [[], 'which command?\n\nUsage: session-tape '],
    [['replya', 'x'], "unknown command 'replya'\n(Did you mean replay?)"],
    [['replay'], "missing required argument 'path'"],
    [['replay', SAMPLE, SAMPLE], 'too many arguments'],
    [['replay', SAMPLE, '--fast'], "unknown option '--fast'"],
    [['replay', SAMPLE, '--until', '-1'], 'It must be an integer, 0 or more.'],
    [['replay', SAMPLE, '--until', '1e3'], 'It must be an integer, 0 or more.'],
    [['replay', SAMPLE, '--until', '9007199254740993'], 'It must be an integer, 0 or more.'],
    [['replay', SAMPLE, '--verify', 'deep'], 'Allowed choices are none, chain, full.'],
    [['verify', SAMPLE, '--signature', 'maybe'], 'Allowed choices are required, ifPresent, ignore.'],
    [['verify', SAMPLE, '--signature', 'required'], 'is no bundle, and has none'],
    [['verify', SAMPLE, '--key', SAMPLE], '--key: not for a session'],
    [['replay', GOLDEN_RUN, '--project', 'x'], '--project: not for a run'],
    [['replay', GOLDEN_RUN, '--strict'], '--strict: not for a run'],
    [['bundle', 'export', SAMPLE, '/nowhere/x', '--level', '23'], 'options.level must be an integer from 1 to 22'],
    [['trace', SAMPLE], 'name an event, or give --events'],
    [['trace', SAMPLE, 'evt_1', '--events'], 'name an event, or give --events'],
    [['trace', SAMPLE, 'evt_1', '--from', '2'], 'only with --events'],
    [['header'], "missing required argument 'path'"],
    [['sessions', '/', '/'], 'too many arguments'],
    [['bundle'], 'which command?\n\nUsage: session-tape bundle'],
    [['bundle', 'seal'], "unknown command 'seal'"],
    [['bundle', 'export', SAMPLE], "missing required argument 'dest'"],
    [['bundle', 'export', SAMPLE, '/nowhere/x', '--rule', 'no-pattern'], 'it must be NAME=PATTERN'],
    [['diff', SAMPLE], "missing required argument 'right'"],
  ])('%j has exit code 2 and says what is wrong', async (args, message) => {
    expect(await complaintOf(args)).toContain(message)
  })

  test('is an error with the code Usage as JSON', async () => {
    expect(await errorOf(['replay', SAMPLE, '--fast'])).toEqual({ code: 'Usage', message: "unknown option '--fast'" })
    expect((await errorOf([])).code).toBe('Usage')
    expect((await errorOf(['bundle'])).code).toBe('Usage')
  })
})

describe('unreadable paths', () => {
  const missing = join(sessionDirectory(), 'missing.jsonl')

  test.each(CALLS)('%s of a missing file has exit code 2', async (...command) => {
    const ended = await sessionTape([...command, missing])
    expect(ended.code).toBe(2)
    // `header` continues with its other paths, and reports this one in its result.
    expect(ended.stdout + ended.stderr).toMatch(/there is nothing at|no such file/)
    const beneathAFile = join(writeSession(session()), 'below.jsonl')
    expect((await sessionTape([...command, beneathAFile])).code).toBe(2)
  })

  test('are reported as JSON with the code of the system error', async () => {
    expect(await errorOf(['replay', missing])).toEqual({
      code: 'ENOENT',
      message: `there is nothing at ${missing}`,
      path: missing,
    })
    expect((await errorOf(['trace', '--events', missing])).code).toBe('ENOENT')
    expect((await errorOf(['diff', missing, SAMPLE])).code).toBe('ENOENT')
    expect((await errorOf(['diff', SAMPLE, missing])).code).toBe('ENOENT')
  })

  test.skipIf(process.platform === 'win32')('a device is not a regular file', async () => {
    expect(await complaintOf(['replay', '/dev/null'])).toBe(
      '/dev/null is not a regular file but a device; write its content to a file first',
    )
    expect(await errorOf(['inspect', '/dev/null'])).toMatchObject({ code: 'EINVAL', path: '/dev/null' })
  })

  test('a file of a run is refused, with the advice to name its directory', async () => {
    expect(await complaintOf(['replay', join(GOLDEN_RUN, 'events.cath-log')])).toMatch(
      /neither a session, nor a run, nor a bundle; name the directory/,
    )
  })

  test.skipIf(unprivileged === null)(
    'a file without read permission has exit code 2 (needs a user to whom permissions apply)',
    async () => {
      const named = writeSession(session(content('secret')))
      const other = join(dirname(named), 'unreadable')
      writeFileSync(other, session(content('secret')))
      spawnSync('chmod', ['000', named, other])
      spawnSync('chmod', ['755', dirname(named)])
      for (const filePath of [named, other]) {
        const complaint = await complaintOf(['replay', filePath], 2, unprivileged!)
        expect(complaint).toContain(`Failed to read file: EACCES: permission denied, open '${filePath}'`)
        for (const command of CALLS)
          expect((await sessionTape([...command, filePath], unprivileged!)).code, command[0]).toBe(2)
      }
      spawnSync('chmod', ['644', named, other])
    },
  )

  test('a hostile path is escaped in messages', async () => {
    const { stderr } = await sessionTape(['replay', '/no/\u001b[31msuch\u202e file'])
    expect(stderr).toBe('session-tape: there is nothing at /no/\\x1b[31msuch\\u202e file\n')
    const option = await sessionTape(['replay', '--\u001b[31m'])
    expect(option.stderr).toContain("unknown option '--\\x1b[31m'")
  })
})

describe('pipes', () => {
  const piped = (command: string): Promise<{ stdout: string; stderr: string }> =>
    run('bash', ['-c', `"${process.execPath}" "${PROGRAM}" ${command}; echo "\${PIPESTATUS[0]}"`])

  test('a reader that stops early is not an error, and the exit code reflects the result', async () => {
    const damaged = writeSession(session(content('x'), 'damage', content('y')))
    const long = writeSession(sessionOf(Array.from({ length: 20_000 }, (_, i) => content(`${i} ${'x'.repeat(50)}`))))
    expect(await piped(`replay "${SAMPLE}" | true`)).toMatchObject({ stdout: '0\n', stderr: '' })
    expect(await piped(`verify "${damaged}" | true`)).toMatchObject({ stdout: '1\n', stderr: '' })
    expect(await piped(`replay "${long}" --json | head -c 3 >/dev/null`)).toMatchObject({ stdout: '0\n', stderr: '' })
    expect(await piped(`--help | true`)).toMatchObject({ stdout: '0\n', stderr: '' })
    const events = await piped(`trace "${long}" --events | head -2`)
    expect(events.stderr).toBe('')
    expect(events.stdout.split('\n')).toHaveLength(4)
    expect(events.stdout).toMatch(/\n0\n$/)
  })

  test('a reader of stderr that stops early is not an error either', async () => {
    expect(await piped('replay /nowhere 2>&1 >/dev/null | true')).toMatchObject({ stdout: '2\n', stderr: '' })
  })

  test.skipIf(process.platform !== 'linux')('a full disk is reported, with exit code 2', async () => {
    const ended = await run('sh', ['-c', `"${process.execPath}" "${PROGRAM}" replay "${SAMPLE}" --json > /dev/full`])
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(JSON.parse(ended.stderr).error.code).toBe('ENOSPC')
  })
})

describe('colours', () => {
  const ESCAPE = '\u001b['

  test('are off in a pipe, unless FORCE_COLOR switches them on', async () => {
    for (const command of CALLS.slice(0, 5)) {
      expect(await shown([...command, SAMPLE])).not.toContain(ESCAPE)
      expect(await shown([...command, SAMPLE], { env: { FORCE_COLOR: '1' } })).toContain(ESCAPE)
      expect(await shown([...command, SAMPLE], { env: { FORCE_COLOR: '0' } })).not.toContain(ESCAPE)
    }
  })

  test('are off with NO_COLOR, which takes precedence', async () => {
    expect(await shown(['replay', SAMPLE], { env: { FORCE_COLOR: '1', NO_COLOR: '1' } })).not.toContain(ESCAPE)
  })

  test('are never in JSON', async () => {
    expect(await shown(['replay', SAMPLE, '--json'], { env: { FORCE_COLOR: '1' } })).not.toContain(ESCAPE)
  })

  test.skipIf(!hasTerminal)('are on for a terminal that can show them (needs util-linux script)', async () => {
    expect((await onTerminal(['inspect', SAMPLE])).stdout).toContain(`${ESCAPE}1mA session`)
    for (const env of [{ NO_COLOR: '1' }, { FORCE_COLOR: '0' }, { TERM: 'dumb' }]) {
      expect((await onTerminal(['inspect', SAMPLE], { env })).stdout, JSON.stringify(env)).not.toContain(ESCAPE)
    }
    const failed = await onTerminal(['inspect', '/nowhere'])
    expect(failed.code).toBe(2)
    expect(failed.stdout).toContain(`${ESCAPE}31msession-tape:`)
  })
})
