// Checks docs/run-format.md: its example is recomputed from its own text with nothing but Node's hashes, and the library reads the example as
// the page says.

import { verify } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compileWorkflow, readRunEvents, replayRun, verifyRun } from '../../index.js'
import type { Workflow } from '../../index.js'
import { canonical, formatPage, sha256 } from '../support/format-page.js'

const { page: PAGE, block } = formatPage('run-format')

const workflow = JSON.parse(block('json workflow.json')) as Workflow
const dag = block('json dag.json')
const lines = block('jsonl events.cath-log').split('\n')
const events = lines.map((line) => JSON.parse(line))
const blob = block('text blob')
const snapshot = block('json snap_8.cath-snap')
const publicKey = `${block('pem')}\n`
const state = JSON.parse(block('json state'))
const changes = events.map(({ time }) => block(`diff evt_${time}`).split('\n'))

describe('the example', () => {
  test('has ten events', () => {
    expect(events.map(({ time }) => time)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  test('has the graph that its workflow compiles to, and its hash', () => {
    const byId = <T extends { id: string }>(a: T, b: T) => (a.id < b.id ? -1 : 1)
    const nodes = workflow.nodes.map(({ id, kind, tool, capabilities = [] }) =>
      tool === undefined ? { id, kind, capabilities } : { id, kind, tool, capabilities },
    )
    const edges = workflow.nodes.flatMap(({ id, dependsOn = [] }) => dependsOn.map((dependency) => [dependency, id]))
    expect(dag).toBe(canonical({ nodes: nodes.sort(byId), edges: edges.sort() }))
    expect(events[0].payload.dagHash).toBe(sha256(dag))
    expect(PAGE).toContain(`SHA-256 is \`${sha256(dag)}\``)
  })

  test('has lines with the members of the table, in its order', () => {
    const keys = [...PAGE.matchAll(/^\| `(\w+)` \| .* \| .* \|$/gm)].map(([, key]) => key).slice(0, 11)
    for (const [time, line] of lines.entries()) {
      expect(Object.keys(events[time])).toEqual(keys)
      expect(line).toBe(JSON.stringify(events[time]))
    }
  })

  test('has payload hashes and a chain that can be recomputed', () => {
    let previous = '0'.repeat(64)
    for (const [time, line] of lines.entries()) {
      const { salt, payloadHash, hash } = events[time]
      const payload = line.slice(line.indexOf(',"payload":') + ',"payload":'.length, -1)
      expect(sha256(Buffer.from(salt, 'hex'), payload)).toBe(payloadHash)
      expect(sha256(previous, '\n', line.slice(0, line.indexOf(',"hash":"')))).toBe(hash)
      previous = hash
    }
  })

  test('has entries that add up to its state hashes', () => {
    const entries = new Set<string>()
    for (const [time, change] of changes.entries()) {
      const marked = (mark: string) => change.filter((line) => line[0] === mark).map((line) => line.slice(1))
      for (const entry of marked('-')) expect(entries.delete(entry), entry).toBe(true)
      for (const entry of marked('+')) {
        expect(canonical(JSON.parse(entry))).toBe(entry)
        expect(entries.has(entry), entry).toBe(false)
        entries.add(entry)
      }
      const sum = [...entries].reduce((total, entry) => total + BigInt(`0x${sha256(entry)}`), 0n)
      const accumulator = BigInt.asUintN(256, sum).toString(16).padStart(64, '0')
      const status = time === 0 ? 'Created' : 'Running'
      expect(marked(' ')).toEqual([accumulator, `state/1\\n${status}\\n${time}\\n${accumulator}`])
      expect(sha256(`state/1\n${status}\n${time}\n${accumulator}`)).toBe(events[time].stateHash)
    }
  })

  test("has its tool's output, raw and normalised", () => {
    const { rawHash, outputHash, normalizer } = events[7].payload
    expect(PAGE).toContain(`\`blobs/${rawHash.slice(0, 2)}/${rawHash}\``)
    expect([sha256(blob), normalizer]).toEqual([rawHash, 'json'])
    expect(sha256(canonical(JSON.parse(blob)))).toBe(outputHash)
  })

  test('has a signed snapshot of the state after event 8', () => {
    const { contentHash, signature, ...content } = JSON.parse(snapshot)
    expect(snapshot).toBe(canonical(JSON.parse(snapshot)))
    expect(contentHash).toBe(sha256(canonical(content)))
    expect(content).toMatchObject({ v: 1, runId: events[0].payload.runId, logicalTime: 8, snapshot: 'snap_8' })
    expect([content.eventHash, content.stateHash]).toEqual([events[8].hash, events[8].stateHash])
    const type = 'application/vnd.cath.snapshot+json'
    const signed = Buffer.from(canonical(content))
    const encoded = Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${signed.length} `), signed])
    expect(verify(null, encoded, publicKey, Buffer.from(signature.sig, 'base64'))).toBe(true)
    const der = Buffer.from(publicKey.replace(/-----.*-----|\n/g, ''), 'base64')
    expect(signature.keyid).toBe(sha256(der))
  })

  test('has a snapshot whose state matches the entries', () => {
    const { state: held } = JSON.parse(snapshot)
    const entries = new Set<string>()
    for (const change of changes.slice(0, 9)) {
      for (const line of change) {
        if (line[0] === '-') entries.delete(line.slice(1))
        if (line[0] === '+') entries.add(line.slice(1))
      }
    }
    const of = (sort: string) => [...entries].map((entry) => JSON.parse(entry)).filter(([first]) => first === sort)
    const byId = (sort: string) => Object.fromEntries(of(sort).map(([, id, value]) => [id, value]))
    expect(held.coordinator.nodeStates).toEqual(byId('node'))
    expect(held.tasks).toEqual(byId('task'))
    expect(held.workers).toEqual(byId('worker'))
    expect(held.calls).toEqual({ 'fetch#1': { c1: of('call')[0]![3] } })
    expect(held.lastAssigned).toBe(of('scheduler')[0]![2])
    expect(canonical(held.coordinator.dag)).toBe(dag)
    expect(of('dag')).toEqual([['dag', sha256(dag)]])
  })
})

describe('the library', () => {
  let directory: string
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'session-tape-format-'))
    const hash = sha256(blob)
    const files = {
      'workflow.json': block('json workflow.json'),
      'dag.json': dag,
      'events.cath-log': `${lines.join('\n')}\n`,
      'snapshots/snap_8.cath-snap': snapshot,
      [`blobs/${hash.slice(0, 2)}/${hash}`]: blob,
    }
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, path)), { recursive: true })
      writeFileSync(join(directory, path), text)
    }
  })
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  test('compiles the workflow to the graph', () => {
    expect(compileWorkflow(workflow)).toEqual({ dag, dagHash: sha256(dag) })
  })

  test.each(['none', 'chain', 'full'] as const)('replays the log to the state (%s)', async (check) => {
    const replay = await replayRun(directory, { verify: check })
    expect(replay).toMatchObject({ ok: true, eventCount: 10, fromSnapshot: null, warnings: [] })
    expect(replay.state).toEqual(state)
  })

  test('replays from the snapshot if its key is trusted', async () => {
    const replay = await replayRun(directory, { fromSnapshot: 'latest', trustedKeys: [publicKey], verify: 'full' })
    expect(replay).toMatchObject({ ok: true, eventCount: 10, fromSnapshot: 'snap_8', warnings: [] })
    expect(replay.state).toEqual(state)
  })

  test('verifies the run', async () => {
    const flags = { dagMatch: true, scheduleMatch: true, stateHashesMatch: true, outputHashesMatch: true }
    expect(await verifyRun(directory)).toMatchObject({ ok: true, ...flags })
  })

  test('reads the events of the run', async () => {
    const read = []
    for await (const { logicalTime, kind, node, payload, hash } of readRunEvents(directory)) {
      read.push({ time: logicalTime, kind, node, payload, hash })
    }
    expect(read).toEqual(events.map(({ time, kind, node, payload, hash }) => ({ time, kind, node, payload, hash })))
  })
})
