/** `session-tape completion`: the scripts against the program's own help, and those for bash and fish in the real shells. */
import { type SpawnSyncOptionsWithStringEncoding, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test as property } from '../support/property'
import { beforeAll, describe, expect, test } from 'vitest'
import { complaintOf, hasTerminal, shown } from '../support/command-line'
import { sessionDirectory } from '../support/session-file'

const SHELLS = ['bash', 'zsh', 'fish']
const isInstalled = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0

interface Flag {
  names: string[]
  value: '' | 'required' | 'optional'
  choices: string[]
}

interface Documented {
  command: string[]
  subcommands: string[]
  flags: Flag[]
}

/** The subcommands and options that the help of a command, and of all commands below it, lists. */
async function documented(command: string[] = []): Promise<Documented[]> {
  const help = await shown([...command, '--help'])
  const section = (title: string): string =>
    new RegExp(`^${title}:\n([^]*?)(?=^\\S|(?![^]))`, 'm').exec(help)?.[1] ?? ''
  const subcommands = [...section('Commands').matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name!)
  const flags = section('Options')
    .split(/^ {2}(?=-)/m)
    .slice(1)
    .map((entry): Flag => {
      const [, names, bracket] = /^((?:-\w, )?--[\w-]+)(?: ([<[]))?/.exec(entry)!
      const choices = /\(choices:\s+([^)]*)\)/.exec(entry)?.[1]?.match(/[^\s",]+/g) ?? []
      return {
        names: names!.split(', '),
        value: bracket === '<' ? 'required' : bracket === '[' ? 'optional' : '',
        choices: [...choices],
      }
    })
  const below = await Promise.all(
    subcommands.filter((name) => name !== 'help').map((name) => documented([...command, name])),
  )
  return [{ command, subcommands, flags }, ...below.flat()]
}

let commands: Documented[]
const scripts: Record<string, string> = {}
const fileOf = (shell: string): string => join(sessionDirectory(), `completion.${shell}`)

beforeAll(async () => {
  commands = await documented()
  for (const shell of SHELLS) {
    scripts[shell] = await shown(['completion', shell])
    writeFileSync(fileOf(shell), scripts[shell]!)
  }
})

test('the help is parsed correctly', () => {
  expect(commands.map(({ command }) => command.join(' '))).toEqual(
    expect.arrayContaining(['', 'replay', 'bundle', 'bundle export', 'completion']),
  )
  const replay = commands.find(({ command }) => command[0] === 'replay')!
  expect(replay.flags.find(({ names }) => names.includes('--verify'))).toEqual({
    names: ['--verify'],
    value: 'required',
    choices: ['none', 'chain', 'full'],
  })
  expect(replay.flags.find(({ names }) => names.includes('--from-snapshot'))!.value).toBe('optional')
})

test('an unknown shell is a usage error that lists the known ones', async () => {
  expect(await complaintOf(['completion', 'powershell'])).toContain('Allowed choices are bash, zsh, fish.')
  expect(await complaintOf(['completion'])).toContain("missing required argument 'shell'")
})

describe.each(SHELLS)('the script for %s', (shell) => {
  test.skipIf(!isInstalled(shell))('parses without an error (needs the shell)', () => {
    const { status, stderr } = spawnSync(shell, ['-n', fileOf(shell)], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })
})

/** The part of a script that is about a command. */
const PARTS: Record<string, (command: string[]) => RegExp> = {
  zsh: (command) => new RegExp(`^${['_session-tape', ...command].join('-')}\\(\\) \\{$[^]*?^\\}$`, 'm'),
  fish: (command) =>
    new RegExp(`(?:^complete -c session-tape -n '__session_tape_at \\\\'${command.join(' ')}\\\\' .*\n)+`, 'm'),
}

describe.each(Object.keys(PARTS))('the script for %s', (shell) => {
  test('has every command with its options and their choices, and no others', () => {
    for (const { command, subcommands, flags } of commands) {
      const [part] = PARTS[shell]!(command).exec(scripts[shell]!) ?? ['']
      const found =
        shell === 'zsh'
          ? [...part.matchAll(/(?<=[ '*{,])--?[a-zA-Z][\w-]*(?==?['[,}])/g)].map(([name]) => name)
          : [...part.matchAll(/ -(?:s (\w)|l ([\w-]+))/g)].map(([, short, long]) =>
              short === undefined ? `--${long}` : `-${short}`,
            )
      expect([...new Set(found)].sort(), command.join(' ')).toEqual(flags.flatMap(({ names }) => names).sort())
      for (const name of subcommands) expect(part).toMatch(shell === 'zsh' ? `'${name}:` : ` -a ${name} -d '`)
      for (const { choices } of flags) expect(part).toContain(choices.join(' '))
    }
  })
})

describe.skipIf(!isInstalled('fish'))('in fish (needs it)', () => {
  const FISH = (): SpawnSyncOptionsWithStringEncoding => ({
    encoding: 'utf8',
    cwd: directory(),
    env: { ...process.env, HOME: sessionDirectory() },
  })
  const fish = (line: string): string[] =>
    spawnSync('fish', ['-N', '-c', `source ${fileOf('fish')}; complete -C '${line}'`], FISH())
      .stdout.split('\n')
      .slice(0, -1)
  const words = (line: string): string[] => fish(line).map((row) => row.split('\t')[0]!)

  test('commands, options, choices and files are completed', () => {
    for (const { command, subcommands, flags } of commands) {
      const line = ['session-tape', ...command].join(' ')
      if (subcommands.length > 0) expect(words(`${line} `)).toEqual([...subcommands].sort())
      expect(words(`${line} --`)).toEqual(flags.map(({ names }) => names.at(-1)!).sort())
      for (const { names, choices } of flags.filter((flag) => flag.choices.length > 0))
        expect(words(`${line} ${names[0]} `)).toEqual([...choices].sort())
    }
    expect(words('session-tape inspect --json 日')).toEqual(['日記 1.jsonl'])
    expect(words('session-tape inspect 日記 ')).toEqual([])
    expect(words('session-tape replay --until ')).toEqual([])
  })
})

/** A directory with something to complete. */
function directory(): string {
  const path = join(sessionDirectory(), 'to complete')
  mkdirSync(join(path, 'runs'), { recursive: true })
  writeFileSync(join(path, '日記 1.jsonl'), '')
  return path
}

describe.skipIf(!isInstalled('bash'))('in bash (needs it)', () => {
  const HARNESS = `
    compopt() { asked+=" $*"; }
    source "$1"; shift
    COMP_WORDS=(session-tape "$@") COMP_CWORD=$#
    _session_tape
    printf '%s\\n' "\${COMPREPLY[@]-}" "[$asked ]"`

  /** The completions of the last of the words, and the options that the script sets. */
  function completed(...words: string[]): { words: string[]; options: string } {
    const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', HARNESS, 'bash', fileOf('bash'), ...words], {
      encoding: 'utf8',
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const lines = stdout.split('\n').slice(0, -1)
    return { words: lines.slice(0, -1).filter((line) => line !== ''), options: lines.at(-1)! }
  }

  /** Readline itself completes file names, unless that is switched off. */
  const FILES = { words: [], options: '[ ]' }
  const DIRECTORIES = { words: [], options: '[ -o dirnames +o default ]' }
  const NOTHING = { words: [], options: '[ +o default ]' }
  const only = (...words: string[]): object => ({ words, options: '[ +o default ]' })

  test('every command, option and choice is completed, and nothing else', () => {
    for (const { command, subcommands, flags } of commands) {
      if (subcommands.length > 0) expect(completed(...command, '')).toEqual(only(...subcommands))
      expect(completed(...command, '-').words.sort(), command.join(' ')).toEqual(
        flags.flatMap(({ names }) => names).sort(),
      )
      for (const { names, choices, value } of flags) {
        const [name] = names
        if (choices.length > 0) expect(completed(...command, name!, '')).toEqual(only(...choices))
        if (value === 'required' && choices.length === 0)
          expect([FILES, DIRECTORIES, NOTHING]).toContainEqual(completed(...command, name!, ''))
      }
    }
  })

  test.each<[string[], object]>([
    [['insp'], only('inspect')],
    [['nothing'], NOTHING],
    [['inspect', ''], FILES],
    [['inspect', 'a.jsonl', ''], only('--json', '-h', '--help')],
    [['header', 'a', 'b', ''], FILES],
    [['diff', 'a', ''], FILES],
    [['trace', 'a', ''], NOTHING],
    [['bundle', 'exp'], only('export')],
    [['bundle', 'import', 'a', ''], DIRECTORIES],
    [['bundle', 'import', '--key', 'k', 'a', ''], DIRECTORIES],
    [['bundle', 'import', '--key', ''], FILES],
    [['bundle', 'export', '--rule', 'a', '=', 'b', ''], FILES],
    [['bundle', 'export', '--rule', 'a', '=', 'b', 'src', 'dest', '--le'], only('--level')],
    [['replay', '--until', ''], NOTHING],
    [['replay', '--from-snapshot', ''], NOTHING],
    [['replay', '--from-snapshot', 's', ''], FILES],
    [['replay', '--from-snapshot', '--json', ''], FILES],
    [['replay', '--from-snapshot', '--verify', ''], only('none', 'chain', 'full')],
    [['replay', '--from-snapshot', '--js'], only('--json')],
    [['replay', '--verify', '=', 'c'], only('chain')],
    [['replay', '--verify', '='], only('none', 'chain', 'full')],
    [['replay', '--verify', '=', 'chain', ''], FILES],
    [['replay', '--key', '=', 'k', 'a', '--ver'], only('--verify')],
    [['replay', '--', '-'], FILES],
    [['replay', '--', 'a', ''], NOTHING],
    [['diff', 'a', ':', 'b', ''], FILES],
    [
      ['diff', 'a', ':', 'b', 'c', ''],
      only('--full', '--ignore', '--details', '--heartbeats', '--html', '--json', '-h', '--help'),
    ],
    [['help', 'head'], only('header')],
    [['bundle', 'help', ''], only('export', 'verify', 'import')],
    [['completion', ''], only(...SHELLS)],
    [['falsch', 'inspect', '-'], only('-V', '--version', '-h', '--help')],
    [['inspect', 'inspect', '-'], only('--json', '-h', '--help')],
  ])('%j', (words, expected) => {
    expect(completed(...words)).toEqual(expected)
  })

  test('a choice after "=" includes the option if readline does not split words there', () => {
    const { stdout } = spawnSync(
      'bash',
      ['--norc', '-c', `COMP_WORDBREAKS=' '; ${HARNESS}`, 'bash', fileOf('bash'), 'replay', '--verify=c'],
      { encoding: 'utf8' },
    )
    expect(stdout.split('\n')[0]).toBe('--verify=chain')
  })

  property.prop([fc.nat(), fc.array(fc.nat(), { maxLength: 4 }), fc.nat(3)], { numRuns: 60 })(
    'options and their values before it do not change how an argument is completed',
    (which, chosen, taken) => {
      const { command, flags } = commands[which % commands.length]!
      const before = chosen.flatMap((n) => {
        const { names, value } = flags[n % flags.length]!
        return [names[n % names.length]!, ...(value === '' ? [] : ['wert'])]
      })
      const values = Array.from({ length: taken }, (_, i) => `pfad${i}`)
      expect(completed(...command, ...before, ...values, '')).toEqual(completed(...command, ...values, ''))
    },
  )

  test.skipIf(!hasTerminal)(
    'words are completed as typed, names with spaces included (needs util-linux script)',
    () => {
      // Without the history and the key bindings of the user who runs the tests.
      const PLAIN = { ...process.env, HISTFILE: '/dev/null', INPUTRC: '/dev/null', TERM: 'xterm' }
      const typed = [
        `PS1='' PS2=''; source '${fileOf('bash')}'; session-tape() { printf '<%s>' "$@"; echo; }`,
        'session-tape repl\t--ver\tch\t日\t',
        'session-tape bundle imp\tx r\t',
        'session-tape bundle import x 日\t',
        'session-tape replay --verify=ful\t',
        'exit\n',
      ].join('\n')
      const { stdout } = spawnSync('script', ['-qec', 'bash --norc --noprofile -i', '/dev/null'], {
        cwd: directory(),
        env: PLAIN,
        input: typed,
        encoding: 'utf8',
      })
      const results = stdout
        .replaceAll('\r', '')
        .split('\n')
        .filter((line) => /^(?:\u001b\[\?2004l)?</.test(line))
        .map((line) => line.replace(/^\u001b\[\?2004l/, ''))
      expect(results).toEqual([
        '<replay><--verify><chain><日記 1.jsonl>',
        '<bundle><import><x><runs/>',
        '<bundle><import><x><日>',
        '<replay><--verify=full>',
      ])
    },
  )
})
