// Signatures: keys from Node's crypto, each policy with each kind of signature, and malformed signatures.

import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import type { VerifyBundleOptions } from '../../index.js'
import { filesOfRun, isSignedBy, sealed, signatureOf } from '../support/plain-bundle.mjs'
import type { Files } from '../support/plain-bundle.mjs'
import {
  FORMS,
  VERSION,
  archiveOf,
  codesIn,
  exists,
  exportBundle,
  filesIn,
  freshDirectory,
  importBundle,
  newKeys,
  readRunEvents,
  rejection,
  replayRun,
  sources,
  verifyBundle,
  verifyRun,
  writeArchive,
  writeFiles,
} from '../support/bundles.js'
import { completedRun } from '../support/run-directory.js'
import { eachCase } from '../support/each-case.js'
import { runs } from '../support/session-arbitraries.js'

const [mine, other, third] = [newKeys(), newKeys(), newKeys()]
const GOOD = filesOfRun(completedRun(), { version: VERSION })
const source = sources()[0]!.source

async function signed(form: string, signWith = mine.privateKey): Promise<string> {
  const path = join(freshDirectory(), form)
  await exportBundle(source, path, { signWith })
  return path
}

describe.each(FORMS)('a signed %s', (form) => {
  test('satisfies or violates each policy as documented', async () => {
    const [good, unsigned] = [await signed(form), join(freshDirectory(), form)]
    await exportBundle(source, unsigned)
    await eachCase<[VerifyBundleOptions, string[], string[]]>(
      [
        [{ signature: 'required', trustedKeys: [mine.publicKey] }, [], ['SignatureMissing']],
        [{ signature: 'required', trustedKeys: [other.publicKey, mine.publicKey] }, [], ['SignatureMissing']],
        [{ signature: 'required', trustedKeys: [other.publicKey] }, ['SignatureNotTrusted'], ['SignatureMissing']],
        [{ signature: 'required' }, ['SignatureNotTrusted'], ['SignatureMissing']],
        [{ signature: 'ifPresent', trustedKeys: [mine.publicKey] }, [], []],
        [{ trustedKeys: [other.publicKey] }, ['SignatureNotTrusted'], []],
        [{ signature: 'ifPresent' }, [], []],
        [{}, [], []],
        [{ signature: 'ignore', trustedKeys: [other.publicKey] }, [], []],
      ],
      async ([options, ofSigned, ofUnsigned]) => {
        expect(await codesIn(good, options)).toEqual(ofSigned)
        expect(await codesIn(unsigned, options)).toEqual(ofUnsigned)
        const directory = join(freshDirectory(), 'imported')
        if (ofSigned.length > 0) {
          expect(await rejection(importBundle(good, directory, options))).toMatchObject({ code: ofSigned[0] })
          expect(exists(directory)).toBe(false)
        } else {
          await importBundle(good, directory, options)
          expect(exists(join(directory, 'manifest.sig'))).toBe(true)
        }
      },
    )
  })

  test('is read with trusted keys only if one of them signed it', async () => {
    const path = await signed(form)
    expect(await replayRun(path, { trustedKeys: [mine.publicKey] })).toMatchObject({ ok: true })
    expect(await replayRun(path)).toMatchObject({ ok: true })
    expect(await replayRun(path, { trustedKeys: [other.publicKey] })).toMatchObject({
      ok: false,
      error: { code: 'SignatureNotTrusted', path: 'manifest.sig' },
    })
    expect(await verifyRun(path, { trustedKeys: [other.publicKey] })).toMatchObject({
      ok: false,
      chain: { failed: 1, firstFailure: { code: 'SignatureNotTrusted' } },
    })
    expect((await readRunEvents(path).next()).value).toMatchObject({ eventId: 'evt_0' })
  })
})

describe('manifest.sig', () => {
  const manifest = GOOD['manifest.json']!
  const withSignature = (signature: string): Files => ({ ...GOOD, 'manifest.sig': Buffer.from(signature) })
  const codesWith = (signature: string, options?: VerifyBundleOptions): Promise<string[]> =>
    codesIn(writeFiles(join(freshDirectory(), 'd'), withSignature(signature)), options)
  const trusting: VerifyBundleOptions = { signature: 'required', trustedKeys: [mine.publicKey] }

  test("equals the signature that Node's crypto makes of the manifest", async () => {
    const files = filesIn(await signed(FORMS[0]))
    expect(files['manifest.sig']!.toString()).toBe(signatureOf(files['manifest.json']!, [mine.privateKey]))
    expect(isSignedBy(files, [mine.publicKey])).toBe(true)
    expect(isSignedBy(files, [other.publicKey])).toBe(false)
  })

  test('may hold several signatures, of which one by a trusted key is enough', async () => {
    const three = signatureOf(manifest, [other.privateKey, mine.privateKey, third.privateKey])
    expect(await codesWith(three, trusting)).toEqual([])
    const wrong = signatureOf('another manifest', [mine.privateKey])
    expect(await codesWith(wrong, trusting)).toEqual(['SignatureNotTrusted'])
    expect(await codesWith(three, { ...trusting, trustedKeys: [newKeys().publicKey] })).toEqual(['SignatureNotTrusted'])
    expect(
      await codesIn(writeArchive(archiveOf(sealed(GOOD, { signWith: [other.privateKey, mine.privateKey] }))), trusting),
    ).toEqual([])
  })

  test('does not vouch for another manifest, not even of the same files', async () => {
    const changed = sealed({ ...GOOD, 'workflow.json': `${GOOD['workflow.json']} ` })
    const files = { ...changed, 'manifest.sig': Buffer.from(signatureOf(manifest, [mine.privateKey])) }
    expect(await codesIn(writeArchive(archiveOf(files)), trusting)).toEqual(['SignatureNotTrusted'])
    expect(await codesIn(writeArchive(archiveOf(files)))).toEqual([])
  })

  test('does not count if it signs another payload type, or the bare bytes', async () => {
    const keyid = JSON.parse(signatureOf(manifest, [mine.privateKey])).signatures[0].keyid
    const over = (bytes: Buffer): string =>
      JSON.stringify({
        payloadType: 'application/vnd.cath.bundle-manifest+json',
        signatures: [{ keyid, sig: sign(null, bytes, mine.privateKey).toString('base64') }],
      })
    const type = 'application/vnd.cath.snapshot+json'
    const snapshotLike = Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${manifest.length} `), manifest])
    expect(verify(null, manifest, createPublicKey(mine.publicKey), sign(null, manifest, mine.privateKey))).toBe(true)
    expect(await codesWith(over(manifest), trusting)).toEqual(['SignatureNotTrusted'])
    expect(await codesWith(over(snapshotLike), trusting)).toEqual(['SignatureNotTrusted'])
  })

  test('is reported if it is malformed, unless signatures are ignored', async () => {
    const text = signatureOf(manifest, [mine.privateKey])
    await eachCase(
      [
        '',
        '{}',
        '[]',
        'null',
        `${text}\n`,
        text.replace(':', ': '),
        text.replace('bundle-manifest', 'snapshot'),
        text.replace('==', ''),
        text.replace('"keyid":"', '"keyid":"x'),
        text.replace(/"signatures":\[.*\]/, '"signatures":[]'),
        '['.repeat(50_000),
      ],
      async (signature) => {
        expect(await codesWith(signature)).toEqual(['SignatureMalformed'])
        expect(await codesWith(signature, trusting)).toEqual(['SignatureMalformed'])
        expect(await codesWith(signature, { signature: 'ignore' })).toEqual([])
      },
    )
  })

  test.prop([fc.nat(), fc.integer({ min: 1, max: 255 })], runs(60))(
    'does not count if any byte of it is changed',
    async (at, by) => {
      const bytes = Buffer.from(signatureOf(manifest, [mine.privateKey]))
      // The key's id is a hint, and proves nothing.
      const id = /"keyid":"(\w+)/.exec(bytes.toString())![1]!
      const changed = bytes.indexOf(id) <= at % bytes.length && at % bytes.length < bytes.indexOf(id) + id.length
      bytes[at % bytes.length]! ^= by
      const codes = await codesIn(writeFiles(join(freshDirectory(), 'd'), { ...GOOD, 'manifest.sig': bytes }), trusting)
      const isHintStill = changed && /"keyid":"[0-9a-f]{64}"/.test(bytes.toString())
      const expected = isHintStill ? '' : expect.stringMatching(/^Signature(Malformed|NotTrusted)$/)
      expect(codes.join()).toEqual(expected)
    },
  )

  test('is kept by an import, but not by another export', async () => {
    const directory = freshDirectory()
    await importBundle(await signed(FORMS[1]), join(directory, 'a'))
    expect(await codesIn(join(directory, 'a'), trusting)).toEqual([])
    await exportBundle(join(directory, 'a'), join(directory, 'b'))
    expect(await codesIn(join(directory, 'b'), trusting)).toEqual(['SignatureMissing'])
    const unsigned = filesIn(join(directory, 'b'))
    writeFileSync(join(directory, 'b', 'manifest.sig'), readFileSync(join(directory, 'a', 'manifest.sig')))
    expect(await codesIn(join(directory, 'b'), trusting)).toEqual([])
    expect(unsigned['manifest.json']).toEqual(filesIn(join(directory, 'a'))['manifest.json'])
  })
})

test('a key of the wrong kind throws synchronously, without showing a private key', async () => {
  const rsa = generateKeyPairSync('rsa', {
    modulusLength: 1024,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const destination = join(freshDirectory(), 'b')
  for (const signWith of [
    '',
    'x',
    mine.publicKey,
    rsa.privateKey,
    mine.privateKey.replace('BEGIN PRIVATE', 'BEGIN SECRET'),
  ]) {
    const call = () => exportBundle(source, destination, { signWith })
    expect(call).toThrow(
      expect.objectContaining({
        name: 'TypeError',
        code: 'ERR_INVALID_ARG_TYPE',
        message: expect.stringContaining('options.signWith'),
      }),
    )
    const key = signWith.split('\n')[1]
    if (key) expect(call).not.toThrow(key.slice(0, 16))
  }
  for (const key of ['', 'x', mine.privateKey, rsa.publicKey]) {
    expect(() => verifyBundle(destination, { trustedKeys: [other.publicKey, key] })).toThrow(
      /options\.trustedKeys\[1\]/,
    )
    expect(() => importBundle(destination, destination, { trustedKeys: [key] })).toThrow(/options\.trustedKeys\[0\]/)
  }
  expect(exists(destination)).toBe(false)
})
