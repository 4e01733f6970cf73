// Bundles in plain JavaScript, written from the description of the format: the reference for the addon. Files are kept in memory, by their
// path in the bundle. The code is deliberately simple.

import { createHash, createPublicKey, sign, verify } from 'node:crypto'
import { canonicalJson, sha256 } from './plain-run/canonical.mjs'
import { NO_HASH } from './plain-run/lines.mjs'

export { tarOf, tarHeader, filesOfTar, zstdOf } from './plain-bundle/archive.mjs'

const PAYLOAD_TYPE = 'application/vnd.cath.bundle-manifest+json'
const LOGS = { run: 'events.cath-log', session: 'session.jsonl' }
const MADE = ['manifest.json', 'manifest.sha256', 'manifest.sig']

const hashOf = (bytes) => createHash('sha256').update(bytes).digest('hex')
const linesOf = (bytes) => Buffer.from(bytes).toString().split('\n').slice(0, -1)

/** The files of the bundle of a `PlainRun`; with `after`, of the partial bundle that begins after that event. */
export function filesOfRun(run, { version, after } = {}) {
  const lines = after === undefined ? run.lines : run.lines.slice(after + 1)
  const log = Buffer.from(lines.map((line) => `${line}\n`).join(''))
  const files = { 'events.cath-log': log, 'dag.json': run.graph.dag, 'workflow.json': JSON.stringify(run.workflow) }
  const named = new Set(lines.flatMap((line) => blobsNamed(JSON.parse(line))))
  for (const [hash, data] of run.blobs) {
    if (after === undefined || named.has(hash)) files[blobPath(hash)] = data
  }
  if (after === undefined) for (const [id, text] of run.snapshots) files[`snapshots/${id}.cath-snap`] = text
  else files['snapshot.cath-snap'] = run.snapshots.get(`snap_${after}`)
  const blobs = Object.keys(files).filter((path) => path.startsWith('blobs/')).length
  const events = run.events.map(({ kind, ts, payload }) => ({ kind, ts, payload: JSON.parse(payload) }))
  const end = events
    .slice(events.length - lines.length)
    .find(({ kind }) => kind === 'RunCompleted' || kind === 'RunFailed')
  const metadata = {
    completedAt: end?.ts ?? null,
    counts: { blobs, events: lines.length },
    kind: 'run',
    platform: 'any',
    runId: events[0].payload.runId,
    startedAt: events[0].ts,
    status: run.state.run.status,
    tool: { name: 'session-tape', version },
    v: 1,
    workflow: events[0].payload.workflow,
  }
  const head = after === undefined ? NO_HASH : run.hashes[after]
  const partial = after === undefined ? undefined : { logicalTime: after, snapshot: `snap_${after}` }
  return sealed({ ...files, 'metadata.json': canonicalJson(metadata) }, { partial, before: head })
}

/** The files of the bundle of a session. */
export function filesOfSession(text, { version }) {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const parsed = lines.map((line) => JSON.parse(line))
  const metadata = {
    completedAt: parsed.at(-1).ts,
    counts: { blobs: 0, events: lines.length },
    kind: 'session',
    platform: 'any',
    sessionId: parsed[0].payload.sessionId,
    startedAt: parsed[0].ts,
    tool: { name: 'session-tape', version },
    v: 1,
  }
  return sealed({ 'session.jsonl': text, 'metadata.json': canonicalJson(metadata) }, {})
}

/** Files with the manifest that lists them, its checksums and, if there is a key, its signature. `change` may change the manifest. */
export function sealed(files, { partial, before, signWith, change = (manifest) => manifest } = {}) {
  const content = Object.fromEntries(Object.entries(files).filter(([path]) => !MADE.includes(path)))
  const bytes = Object.fromEntries(Object.entries(content).map(([path, data]) => [path, Buffer.from(data)]))
  const listed = Object.fromEntries(
    Object.entries(bytes).map(([path, data]) => [path, { sha256: hashOf(data), size: data.length }]),
  )
  const kind = 'session.jsonl' in files ? 'session' : 'run'
  const manifest = change({
    v: 1,
    kind,
    files: listed,
    log: extentOf(kind, bytes, before),
    ...(partial && { partial }),
  })
  const document = canonicalJson({ bundleId: sha256(canonicalJson(manifest)), ...manifest })
  bytes['manifest.json'] = Buffer.from(document)
  bytes['manifest.sha256'] = Buffer.from(checksumsOf(manifest, document))
  if (signWith) bytes['manifest.sig'] = Buffer.from(signatureOf(document, [signWith].flat()))
  return inOrder(bytes)
}

function inOrder(files) {
  return Object.fromEntries(Object.entries(files).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
}

function extentOf(kind, files, before) {
  const bytes = files[LOGS[kind]] ?? ''
  if (kind === 'session') {
    const lines = Buffer.from(bytes).toString().split('\n')
    if (lines.at(-1) === '') lines.pop()
    return { count: lines.length, firstTime: null, head: null, lastTime: null }
  }
  const lines = linesOf(bytes).map((line) => JSON.parse(line))
  const first = lines[0]?.time ?? null
  return {
    count: lines.length,
    firstTime: first,
    head: lines.at(-1)?.hash ?? before ?? null,
    lastTime: lines.at(-1)?.time ?? null,
  }
}

function checksumsOf(manifest, document) {
  const paths = Object.keys(manifest.files).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const lines = paths.map((path) => `${manifest.files[path].sha256}  ${path}\n`)
  return `${lines.join('')}${sha256(document)}  manifest.json\n`
}

function preAuthentication(document) {
  const payload = Buffer.from(document)
  return Buffer.concat([Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `), payload])
}

const keyId = (key) => hashOf(createPublicKey(key).export({ type: 'spki', format: 'der' }))

/** `manifest.sig`: the signatures of the document by these private keys. */
export function signatureOf(document, privateKeys) {
  const signatures = privateKeys.map((key) => ({
    keyid: keyId(key),
    sig: sign(null, preAuthentication(document), key).toString('base64'),
  }))
  return canonicalJson({ payloadType: PAYLOAD_TYPE, signatures })
}

/** Whether one of the public keys signed the manifest. */
export function isSignedBy(files, publicKeys) {
  if (!files['manifest.sig']) return false
  const { payloadType, signatures } = JSON.parse(files['manifest.sig'])
  const signed = preAuthentication(files['manifest.json'])
  return (
    payloadType === PAYLOAD_TYPE &&
    publicKeys.some((key) => signatures.some(({ sig }) => verify(null, signed, key, Buffer.from(sig, 'base64'))))
  )
}

export function blobPath(hash) {
  return `blobs/${hash.slice(0, 2)}/${hash}`
}

function blobsNamed({ kind, payload }) {
  return kind === 'BlobStored' ? [payload.blob] : kind === 'ToolCompleted' ? [payload.rawHash] : []
}

/** The problems of a bundle, as texts; empty if it has none. */
export function problemsOf(files) {
  const problems = []
  const expect = (holds, what) => holds || problems.push(what)
  try {
    const document = Buffer.from(files['manifest.json']).toString()
    const { bundleId, ...manifest } = JSON.parse(document)
    expect(
      canonicalJson({ bundleId, ...manifest }) === document && manifest.v === 1,
      'the manifest is not of the one form',
    )
    expect(sha256(canonicalJson(manifest)) === bundleId, 'bundleId')
    expect(
      Buffer.from(files['manifest.sha256'] ?? checksumsOf(manifest, document)).toString() ===
        checksumsOf(manifest, document),
      'manifest.sha256',
    )
    const found = Object.keys(files)
      .filter((path) => !MADE.includes(path))
      .sort()
    expect(found.join('\n') === Object.keys(manifest.files).sort().join('\n'), 'other files than listed')
    for (const [path, { sha256: hash, size }] of Object.entries(manifest.files)) {
      expect(
        files[path] && files[path].length === size && hashOf(files[path]) === hash,
        `${path} is not as it is listed`,
      )
      if (path.startsWith('blobs/')) expect(path === blobPath(hash), `${path} is not under its hash`)
    }
    if (manifest.kind === 'run') for (const path of ['dag.json', 'workflow.json']) expect(files[path], `no ${path}`)
    const metadata = JSON.parse(files['metadata.json'])
    expect(
      metadata.v === 1 && metadata.kind === manifest.kind && metadata.counts.events === manifest.log.count,
      'metadata',
    )
    logProblems(files, manifest, expect)
  } catch (error) {
    problems.push(String(error))
  }
  return problems
}

function logProblems(files, manifest, expect) {
  const log = files[LOGS[manifest.kind]]
  expect(log, 'no log')
  if (manifest.kind === 'session') {
    expect(!manifest.partial, 'a session that begins with a snapshot')
    return expect(canonicalJson(extentOf('session', files)) === canonicalJson(manifest.log), 'the extent of the log')
  }
  const snapshot = manifest.partial && JSON.parse(files['snapshot.cath-snap'])
  if (snapshot) {
    const { contentHash, signature: _, ...content } = snapshot
    expect(sha256(canonicalJson(content)) === contentHash, 'the snapshot has another hash')
    expect(
      snapshot.logicalTime === manifest.partial.logicalTime && snapshot.snapshot === manifest.partial.snapshot,
      'another snapshot',
    )
  }
  expect(log.length === 0 ? snapshot : log.at(-1) === 10, 'the log does not end at a line')
  let previous = snapshot ? snapshot.eventHash : NO_HASH
  let time = snapshot ? snapshot.logicalTime + 1 : 0
  for (const line of linesOf(log)) {
    const event = JSON.parse(line)
    const payload = line.slice(line.indexOf(',"payload":') + ',"payload":'.length, -1)
    const { v, ts, kind, node, parent, payloadHash, stateHash } = event
    const head = JSON.stringify({ v, time, ts, kind, node, parent, payloadHash, stateHash }).slice(0, -1)
    const listed = event.salt !== undefined || redactedTimes(files).has(time)
    expect(listed, `evt_${time} has no salt`)
    const salt = event.salt === undefined ? '' : `"salt":"${event.salt}",`
    expect(line === `${head},"hash":"${event.hash}",${salt}"payload":${payload}}`, `evt_${time} is not of the one form`)
    if (event.salt !== undefined) {
      expect(sha256(Buffer.from(event.salt, 'hex'), payload) === payloadHash, `the payload of evt_${time}`)
    }
    expect(sha256(previous, '\n', head) === event.hash, `the chain at evt_${time}`)
    for (const blob of blobsNamed(event)) expect(blobPath(storedAs(files, blob)) in files, `no blob ${blob}`)
    previous = event.hash
    time += 1
  }
  expect(
    canonicalJson(extentOf('run', files, snapshot?.eventHash)) === canonicalJson(manifest.log),
    'the extent of the log',
  )
}

const redactionsIn = (files) =>
  files['redactions.json'] ? JSON.parse(files['redactions.json']) : { blobs: [], events: [] }
const redactedTimes = (files) => new Set(redactionsIn(files).events.map(({ time }) => time))
const storedAs = (files, hash) => redactionsIn(files).blobs.find(({ blob }) => blob === hash)?.redacted ?? hash
