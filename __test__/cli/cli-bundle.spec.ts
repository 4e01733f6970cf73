/** `session-tape bundle export|verify|import`, and how the other commands handle bundles. */
import { generateKeyPairSync } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { replayRun, replaySession, verifyBundle, verifyRun } from '../../index.js'
import {
  beside,
  complaintOf,
  errorOf,
  GOLDEN_RUN,
  HOSTILE,
  resultOf,
  SAMPLE,
  sessionTape,
  shown,
  UNSAFE,
} from '../support/command-line'
import { projectWith, shown as shown_, storedIn, storeOf } from '../support/media-store'
import { reference } from '../support/plain-media'
import { completedRun, freshPath } from '../support/run-directory'
import { content, session, sessionDirectory, writeSession } from '../support/session-file'

let fresh = 0
const destination = (extension = '.cath-bundle'): string => join(sessionDirectory(), `bundle-${++fresh}${extension}`)
const FORMS = ['.cath-bundle', '.cath-bundle.tar.zst']

/** Exports a recording. Returns the path of the bundle. */
async function sealed(source: string, extension = '.cath-bundle', ...flags: string[]): Promise<string> {
  const path = destination(extension)
  await shown(['bundle', 'export', source, path, ...flags])
  return path
}

function keyFiles(name: string): { secret: string; trusted: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const [secret, trusted] = [join(sessionDirectory(), `${name}.key.pem`), join(sessionDirectory(), `${name}.pub.pem`)]
  writeFileSync(secret, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(trusted, publicKey.export({ type: 'spki', format: 'pem' }))
  return { secret, trusted }
}

/** Changes a byte of the bundle's log, or of the archive. */
function damage(path: string): string {
  const file = statSync(path).isDirectory()
    ? join(path, readdirSync(path).find((name) => /session\.jsonl|cath-log/.test(name))!)
    : path
  const bytes = readFileSync(file)
  const at = bytes.length >> 1
  bytes[at] = bytes[at]! ^ 1
  writeFileSync(file, bytes)
  return path
}

describe('export', () => {
  test.each(FORMS)('to %s returns the result of exportBundle', async (extension) => {
    for (const source of [SAMPLE, GOLDEN_RUN]) {
      const path = destination(extension)
      const info = await resultOf(['bundle', 'export', source, path])
      expect(info).toMatchObject({ kind: source === SAMPLE ? 'session' : 'run', path, partial: false })
      expect((await verifyBundle(path)).info).toEqual(info)
      expect(statSync(path).isDirectory()).toBe(extension === '.cath-bundle')
    }
  })

  test('says what was sealed', async () => {
    const stdout = await shown(['bundle', 'export', GOLDEN_RUN, destination()])
    expect(beside('Bundle', stdout)).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)])
    expect(beside('Of', stdout)).toEqual(['a run'])
    expect(beside('Holds', stdout)).toEqual([expect.stringMatching(/^268 events in \d+ files /)])
    expect(stdout).not.toContain('Images')
  })

  test('says how many images are sealed, missing or left out, and so do verify and import', async () => {
    const { file, mediaDir, root } = projectWith([shown_(reference('one', 'two'))], ['one'])
    expect(await errorOf(['bundle', 'export', file, destination()])).toMatchObject({ code: 'MediaMissing' })
    const skipped = destination()
    expect(beside('Images', await shown(['bundle', 'export', file, skipped, '--media', 'skip']))).toEqual([
      '1 sealed (3 bytes), 1 missing',
    ])
    for (const command of [['bundle', 'verify'], ['verify'], ['inspect']])
      expect(beside('Images', await shown([...command, skipped]))[0]).toBe('1 sealed (3 bytes), 1 missing')
    expect(beside('Images', await shown(['bundle', 'export', file, destination(), '--media', 'drop']))).toEqual([
      '2 left out',
    ])
    const elsewhere = storeOf(join(root, 'elsewhere'), ['one', 'two'])
    const whole = destination('.cath-bundle.tar.zst')
    expect(await resultOf(['bundle', 'export', file, whole, '--media-dir', elsewhere])).toMatchObject({
      media: { sealed: 2, missing: 0, bytes: 6 },
    })
    expect(beside('Images', await shown(['bundle', 'import', whole, destination(), '--media-dir', mediaDir]))).toEqual([
      '2 sealed (6 bytes)',
    ])
    expect(Object.values(storedIn(mediaDir))).toEqual([true, true])
    expect(beside('Images', await shown(['inspect', file]))).toEqual(['1 reference to 2 objects (6 bytes)'])
    expect(await resultOf(['inspect', file])).toMatchObject({ images: { references: 1, objects: 2, bytes: 6 } })
  })

  test('can begin with a snapshot, the latest or a named one', async () => {
    const latest = await resultOf(['bundle', 'export', GOLDEN_RUN, destination(), '--from-snapshot'])
    expect(latest).toMatchObject({ partial: true, events: 1 })
    const named = await resultOf(['bundle', 'export', GOLDEN_RUN, destination(), '--from-snapshot', 'snap_164'])
    expect(named).toMatchObject({ partial: true, events: 103 })
    const error = await errorOf(['bundle', 'export', GOLDEN_RUN, destination(), '--from-snapshot', 'snap_7'])
    expect(error.code).toBe('SnapshotNotFound')
  })

  test('does not replace what is at the destination, and leaves no other files', async () => {
    const path = await sealed(SAMPLE)
    const before = readdirSync(sessionDirectory())
    expect((await errorOf(['bundle', 'export', GOLDEN_RUN, path])).code).toBe('DestinationExists')
    expect((await errorOf(['bundle', 'export', SAMPLE, '/nowhere/at/all/x.cath-bundle'])).code).toBe('ENOENT')
    expect(readdirSync(sessionDirectory())).toEqual(before)
    expect((await verifyBundle(path)).ok).toBe(true)
  })

  test('of a damaged run is refused with exit code 1', async () => {
    const run = completedRun().write(freshPath())
    appendFileSync(join(run, 'events.cath-log'), 'not an event\n')
    const path = destination()
    expect((await errorOf(['bundle', 'export', run, path], 1)).code).toBe('SourceInvalid')
    expect(existsSync(path)).toBe(false)
  })
})

describe('redaction', () => {
  const TOKEN = `ghp_${'a1B2'.repeat(9)}`
  const source = (): string =>
    writeSession(session(content(`my token is ${TOKEN}`), content('see T-123456 and T-654321'), content('and Ada')))
  const bytesOf = (path: string): string =>
    readdirSync(path)
      .map((name) => readFileSync(join(path, name), 'utf8'))
      .join('\n')

  test('of well-known secrets happens unless it is switched off', async () => {
    const path = destination()
    expect((await resultOf(['bundle', 'export', source(), path])).redactions).toBeGreaterThan(0)
    expect(bytesOf(path)).not.toContain(TOKEN)
    const plain = destination()
    expect((await resultOf(['bundle', 'export', source(), plain, '--no-redact'])).redactions).toBe(0)
    expect(bytesOf(plain)).toContain(TOKEN)
  })

  test('follows rules from the command line and from files', async () => {
    const rules = join(sessionDirectory(), 'rules.json')
    writeFileSync(rules, JSON.stringify([{ name: 'people', pattern: 'Ada' }]))
    const path = await sealed(source(), '.cath-bundle', '--rule', 'ticket=T-[0-9]{6}', '--rule-file', rules)
    expect(bytesOf(path)).toContain('[redacted:ticket]')
    expect(bytesOf(path)).toContain('[redacted:people]')
    expect(bytesOf(path)).not.toMatch(/T-\d{6}|Ada|ghp_/)
  })

  test('by an invalid rule fails before anything is written', async () => {
    const path = destination()
    expect((await errorOf(['bundle', 'export', source(), path, '--rule', 'broken=('])).code).toBe('InvalidRule')
    const rules = join(sessionDirectory(), 'no-rules.json')
    for (const text of ['{"name":"x"}', 'not JSON']) {
      writeFileSync(rules, text)
      expect((await errorOf(['bundle', 'export', source(), path, '--rule-file', rules])).code).toBe('InvalidRule')
    }
    expect((await errorOf(['bundle', 'export', source(), path, '--rule-file', '/nowhere'])).code).toBe('ENOENT')
    expect(existsSync(path)).toBe(false)
  })

  test('makes values unverifiable, which is not damage', async () => {
    const run = completedRun()
    run.append('BlobStored', { blob: run.putBlob(`secret ${TOKEN}`), size: 47 })
    const directory = run.write(freshPath())
    const path = await sealed(directory, '.cath-bundle', '--rule', 'word=compiled')
    const result = await resultOf(['verify', path])
    expect(result).toMatchObject({ ok: true, bundle: { ok: true } })
    expect(result.bundle.info.redactions).toBeGreaterThan(0)
    expect(result.run.outputHashes.unverifiable).toBeGreaterThan(0)
    expect(await shown(['verify', path])).toContain("that can't be verified")
  })
})

describe('verify', () => {
  test.each(FORMS)('of %s returns the result of verifyBundle', async (extension) => {
    const path = await sealed(GOLDEN_RUN, extension)
    expect(await resultOf(['bundle', 'verify', path])).toEqual(await verifyBundle(path))
    expect(await shown(['bundle', 'verify', path])).toMatch(/\n {2}sound\n$/)
    damage(path)
    const found = await resultOf(['bundle', 'verify', path], 1)
    expect(found).toEqual(await verifyBundle(path))
    expect(found.problems.length).toBeGreaterThan(0)
    const stdout = await shown(['bundle', 'verify', path], {}, 1)
    for (const { code } of found.problems.slice(0, 3)) expect(stdout).toContain(`✗ ${code} `)
  })

  test('of something that is not a bundle has exit code 2', async () => {
    expect(await complaintOf(['bundle', 'verify', SAMPLE])).toBe(`${SAMPLE} is a session, and no bundle`)
    expect(await errorOf(['bundle', 'verify', GOLDEN_RUN])).toMatchObject({ code: 'NotABundle' })
    const named = join(sessionDirectory(), 'none.tar.zst')
    writeFileSync(named, 'not an archive')
    expect((await errorOf(['bundle', 'verify', named])).code).toBe('NotABundle')
    expect((await errorOf(['verify', named])).code).toBe('NotABundle')
  })

  test('as a command of its own also verifies the sealed recording', async () => {
    for (const extension of FORMS) {
      const run = await sealed(GOLDEN_RUN, extension)
      expect(await resultOf(['verify', run])).toEqual({
        path: run,
        ok: true,
        kind: 'run',
        bundle: await verifyBundle(run),
        run: await verifyRun(run),
      })
      const ofSession = await sealed(SAMPLE, extension)
      expect(await resultOf(['verify', ofSession])).toMatchObject({
        ok: true,
        kind: 'session',
        session: { ok: true, notes: [expect.any(String)] },
      })
      const found = await resultOf(['verify', damage(run)], 1)
      expect(found).toMatchObject({ ok: false, bundle: { ok: false } })
      expect(found.run).toBeUndefined()
    }
  })
})

describe('signatures', () => {
  const [own, other] = [keyFiles('own'), keyFiles('other')]
  let [signed, unsigned] = ['', '']
  beforeAll(async () => {
    ;[signed, unsigned] = [await sealed(SAMPLE, FORMS[1], '--sign-with', own.secret), await sealed(SAMPLE, FORMS[0])]
  })
  const required = ['--signature', 'required']

  test.each([['verify'], ['bundle', 'verify']])('%s checks them as its options say', async (...command) => {
    const codes = async (path: string, flags: string[], code: number): Promise<string[]> => {
      const found = await resultOf([...command, path, ...flags], code)
      return (found.bundle ?? found).problems.map((problem: any) => problem.code)
    }
    expect(await codes(signed, ['--key', own.trusted, ...required], 0)).toEqual([])
    expect(await codes(signed, ['--key', other.trusted, '--key', own.trusted, ...required], 0)).toEqual([])
    expect(await codes(signed, ['--key', other.trusted], 1)).toEqual(['SignatureNotTrusted'])
    expect(await codes(signed, ['--key', other.trusted, '--signature', 'ignore'], 0)).toEqual([])
    expect(await codes(signed, required, 1)).toEqual(['SignatureNotTrusted'])
    expect(await codes(unsigned, ['--key', own.trusted, ...required], 1)).toEqual(['SignatureMissing'])
    expect(await codes(unsigned, ['--key', own.trusted], 0)).toEqual([])
  })

  test('import checks them too', async () => {
    const to = destination()
    const error = await errorOf(['bundle', 'import', signed, to, '--key', other.trusted], 1)
    expect(error).toMatchObject({ code: 'SignatureNotTrusted', problems: [{ code: 'SignatureNotTrusted' }] })
    expect(existsSync(to)).toBe(false)
    await shown(['bundle', 'import', signed, to, '--key', own.trusted, ...required])
    expect(existsSync(to)).toBe(true)
  })

  test('inspect says whether there is one', async () => {
    expect((await resultOf(['inspect', signed])).bundle.signed).toBe(true)
    expect((await resultOf(['inspect', unsigned])).bundle.signed).toBe(false)
  })

  test('a file that is not a key is refused, and its content is not shown', async () => {
    const wrong = join(sessionDirectory(), 'wrong.pem')
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString()
    for (const text of [readFileSync(own.trusted, 'utf8'), rsa, 'hunter2 is my password']) {
      writeFileSync(wrong, text)
      const complaint = await complaintOf(['bundle', 'export', SAMPLE, destination(), '--sign-with', wrong])
      expect(complaint).toBe(`${wrong} is not an Ed25519 private key in PEM form (BEGIN PRIVATE KEY)`)
    }
  })
})

describe('import', () => {
  test.each(FORMS)('of %s restores the recording', async (extension) => {
    const [run, to] = [await sealed(GOLDEN_RUN, extension), destination('')]
    const info = await resultOf(['bundle', 'import', run, to])
    expect(info).toEqual({ ...(await verifyBundle(run)).info, path: to })
    const [before, after] = [await replayRun(GOLDEN_RUN), await replayRun(to)]
    expect(after).toMatchObject({ ok: true, state: before.state })
    expect((await errorOf(['bundle', 'import', run, to])).code).toBe('DestinationExists')
  })

  test('of a damaged bundle writes nothing, and lists the problems', async () => {
    for (const extension of FORMS) {
      const [path, to] = [damage(await sealed(GOLDEN_RUN, extension)), destination('')]
      const error = await errorOf(['bundle', 'import', path, to], 1)
      expect(error.problems).toEqual((await verifyBundle(path)).problems)
      expect(existsSync(to)).toBe(false)
      expect(await complaintOf(['bundle', 'import', path, to], 1)).toContain(`\n  ${error.problems[0].code}: `)
    }
  })
})

describe('the other commands', () => {
  test.each(FORMS)('take %s of a session', async (extension) => {
    const path = await sealed(SAMPLE, extension)
    const { kind, path: _, ...replayed } = await resultOf(['replay', path])
    expect(kind).toBe('session')
    expect(replayed).toEqual(await replaySession(SAMPLE))
    expect(beside('Turns', await shown(['replay', path]))).toEqual(['human 6 · ai 17 · tool 16 in all'])
    expect((await resultOf(['header', path]))[0]).toMatchObject({
      path,
      kind: 'session',
      header: { model: 'gpt-5-mini' },
    })
    expect(await resultOf(['inspect', path])).toMatchObject({
      path,
      kind: 'session',
      damaged: false,
      form: extension === FORMS[0] ? 'bundle' : 'archive',
      historyLength: 15,
      bundle: { kind: 'session', problems: [] },
    })
    const events = (await shown(['trace', path, '--events', '--json'])).split('\n').slice(0, -1)
    expect(events).toHaveLength(49)
  })

  test.each(FORMS)('take %s of a run', async (extension) => {
    const path = await sealed(GOLDEN_RUN, extension)
    const { state } = await replayRun(GOLDEN_RUN, { until: 100 })
    expect(await resultOf(['replay', path, '--until', '100'])).toMatchObject({ kind: 'run', ok: true, path, state })
    expect((await resultOf(['header', path]))[0]).toMatchObject({ path, kind: 'run', header: { runId: 'golden-1' } })
    expect(await resultOf(['inspect', path])).toMatchObject({
      path,
      kind: 'run',
      damaged: false,
      events: { count: 268 },
      bundle: { events: 268 },
    })
    expect((await shown(['trace', path, '--events', '--json', '--from', '7', '--to', '9'])).split('\n')).toHaveLength(4)
  })

  test('take a partial bundle', async () => {
    const path = await sealed(GOLDEN_RUN, FORMS[1], '--from-snapshot', 'snap_164')
    const { state } = await replayRun(GOLDEN_RUN)
    expect(await resultOf(['replay', path])).toMatchObject({ ok: true, state, fromSnapshot: 'snap_164' })
    expect(await resultOf(['inspect', path])).toMatchObject({
      damaged: false,
      header: null,
      runId: 'golden-1',
      events: { count: 103 },
      bundle: { partial: true },
    })
    expect((await resultOf(['header', path], 1))[0]).toMatchObject({ kind: 'run', header: null })
  })

  test('refuse a damaged bundle', async () => {
    for (const extension of FORMS) {
      for (const source of [SAMPLE, GOLDEN_RUN]) {
        const path = damage(await sealed(source, extension))
        const { problems } = await verifyBundle(path)
        expect(await resultOf(['inspect', path], 1)).toMatchObject({ path, damaged: true, bundle: { problems } })
        for (const command of [['replay'], ['trace', '--events']]) {
          const ended = await sessionTape([...command, path, '--json'])
          expect(ended.code, `${command} ${extension}`).toBe(1)
        }
      }
    }
  })

  test('leave no unpacked files behind', async () => {
    const paths = [await sealed(SAMPLE, FORMS[1]), await sealed(GOLDEN_RUN, FORMS[1])]
    const temporary = join(sessionDirectory(), 'temporary')
    mkdirSync(temporary, { recursive: true })
    const env = { TMPDIR: temporary }
    for (const path of [...paths, damage(paths[0]!)]) {
      for (const command of [['inspect'], ['replay'], ['verify'], ['header'], ['trace', '--events']]) {
        const { stdout, stderr } = await sessionTape([...command, path], { env })
        expect(stdout + stderr).not.toBe('')
        expect(readdirSync(temporary), command[0]).toEqual([])
      }
    }
  })

  test('escape hostile content of a bundle', async () => {
    const path = await sealed(writeSession(session(content(HOSTILE))))
    writeFileSync(join(path, `stray\u001b[31m\u202e`), 'x')
    for (const command of [['verify'], ['bundle', 'verify'], ['inspect'], ['bundle', 'import']]) {
      const extra = command[1] === 'import' ? [destination('')] : []
      const { code, stdout, stderr } = await sessionTape([...command, path, ...extra])
      expect(code).toBe(1)
      expect(stdout + stderr).toMatch(/stray/)
      expect(stdout + stderr).not.toMatch(UNSAFE)
    }
  })
})
