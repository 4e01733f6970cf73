// compileWorkflow: the same graph for every notation of a workflow, and an error for a workflow that is not a graph.

import { createHash } from 'node:crypto'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { compileWorkflow } from '../../index.js'
import type { Workflow } from '../../index.js'
import { eachCase } from '../support/each-case.js'
import { anyWorkflow, shuffled } from '../support/run-arbitraries.js'
import { runs } from '../support/session-arbitraries.js'
import { compileWorkflow as compilePlain } from '../support/plain-run-engine.mjs'

const order = fc.array(fc.nat(), { minLength: 6, maxLength: 6 })
const workflowOf = (...nodes: unknown[]) => ({ name: 'w', version: '1', nodes }) as Workflow
const node = (id: string, ...dependsOn: string[]) => ({ id, kind: 'task', dependsOn })

describe('a graph', () => {
  test('has nodes sorted by id, sorted edges, and no duplicate capabilities or edges', () => {
    const { dag, dagHash } = compileWorkflow(
      workflowOf(
        { id: 'ship', kind: 'tool', tool: 'mail', dependsOn: ['test', 'build', 'test'], extra: true },
        { id: 'build', kind: 'task', capabilities: ['net', 'gpu', 'net'] },
        { id: 'test', kind: '', dependsOn: ['build'] },
      ),
    )
    expect(dag).toBe(
      '{"edges":[["build","ship"],["build","test"],["test","ship"]],"nodes":[' +
        '{"capabilities":["gpu","net"],"id":"build","kind":"task"},' +
        '{"capabilities":[],"id":"ship","kind":"tool","tool":"mail"},' +
        '{"capabilities":[],"id":"test","kind":""}]}',
    )
    expect(dagHash).toBe(createHash('sha256').update(dag).digest('hex'))
  })

  test('is sorted by UTF-8 bytes, and escaped as by JSON.stringify', () => {
    const ids = ['\u{ff5e}', '😀', 'é', '"', '\\', '\u0001', '\u2028', '~']
    const { dag } = compileWorkflow(workflowOf(...ids.map((id) => node(id))))
    const sorted = ['\u0001', '"', '\\', '~', 'é', '\u2028', '\u{ff5e}', '😀']
    expect(dag).toContain(
      `"nodes":[${sorted.map((id) => `{"capabilities":[],"id":${JSON.stringify(id)},"kind":"task"}`).join(',')}]`,
    )
  })

  test.prop([anyWorkflow], runs(200))('equals that of the plain engine', (workflow) => {
    const { dag, dagHash } = compilePlain(workflow)
    expect(compileWorkflow(workflow)).toStrictEqual({ dag, dagHash })
  })

  test.prop([anyWorkflow, order, fc.string(), fc.string()], runs(200))(
    'depends neither on the order in the workflow nor on its name and version',
    (workflow, places, name, version) => {
      const nodes = shuffled(workflow.nodes, places).map(({ dependsOn, capabilities, ...rest }) => ({
        capabilities: shuffled(capabilities!, places),
        dependsOn: shuffled(dependsOn!, places),
        ...rest,
      }))
      expect(compileWorkflow({ name, version, nodes })).toStrictEqual(compileWorkflow(workflow))
    },
  )
})

describe('a workflow that is not a graph', () => {
  const refused: [Workflow, RegExp][] = [
    [workflowOf(node('a'), node('b'), node('a')), /'a' is used twice/],
    [workflowOf(node('a', 'b')), /'a' depends on 'b', which is not there/],
    [workflowOf(node('a', 'a')), /'a' depends on itself/],
    [workflowOf(node('a', 'c'), node('b', 'a'), node('c', 'b'), node('d', 'a')), /depend on each other: .*a.*→/],
  ]

  test('throws an Error with the code WorkflowInvalid that says why', () =>
    eachCase(refused, ([workflow, message]) => {
      expect(() => compileWorkflow(workflow)).toThrow(
        expect.objectContaining({ code: 'WorkflowInvalid', message: expect.stringMatching(message) }),
      )
      expect(() => compileWorkflow(workflow)).not.toThrow(TypeError)
    }))

  test('does not overflow the stack, however long its chain or cycle', () => {
    const length = 100_000
    const chain = Array.from({ length }, (_, at) => node(`n${at}`, ...(at > 0 ? [`n${at - 1}`] : [])))
    expect(compileWorkflow(workflowOf(...chain)).dagHash).toBe(
      compileWorkflow(workflowOf(...chain.toReversed())).dagHash,
    )
    chain[0] = node('n0', `n${length - 1}`)
    expect(() => compileWorkflow(workflowOf(...chain))).toThrow(expect.objectContaining({ code: 'WorkflowInvalid' }))
  })
})

describe('a workflow of the wrong type throws a TypeError that names the field', () => {
  const call = compileWorkflow as (workflow: unknown) => unknown
  const good = workflowOf(node('a'))

  test('for every field', () =>
    eachCase(
      [
        [undefined, /workflow must be an object/],
        [null, /workflow must be/],
        [[], /workflow must be/],
        [JSON.stringify(good), /workflow must be/],
        [{ ...good, name: 7 }, /workflow\.name/],
        [{ ...good, version: undefined }, /workflow\.version/],
        [{ ...good, nodes: {} }, /workflow\.nodes must be an array/],
        [{ ...good, nodes: [null] }, /workflow\.nodes\[0\]/],
        [{ ...good, nodes: [node('a'), , node('b')] }, /workflow\.nodes\[1\]/],
        [workflowOf(node('a'), node('')), /workflow\.nodes\[1\]\.id must be a non-empty string/],
        [workflowOf({ id: 'a' }), /workflow\.nodes\[0\]\.kind/],
        [workflowOf({ ...node('a'), tool: null }), /workflow\.nodes\[0\]\.tool/],
        [workflowOf({ ...node('a'), dependsOn: 'b' }), /workflow\.nodes\[0\]\.dependsOn/],
        [workflowOf({ ...node('a'), dependsOn: [, 'b'] }), /workflow\.nodes\[0\]\.dependsOn/],
        [workflowOf({ ...node('a'), capabilities: [''] }), /workflow\.nodes\[0\]\.capabilities/],
      ],
      ([workflow, message]) => {
        expect(() => call(workflow)).toThrow(TypeError)
        expect(() => call(workflow)).toThrow(message)
      },
    ))

  test('but undefined is the same as leaving a field out', () => {
    const left = { ...node('a'), tool: undefined, dependsOn: undefined, capabilities: undefined }
    expect(call(workflowOf(left))).toStrictEqual(compileWorkflow(workflowOf({ id: 'a', kind: 'task' })))
  })
})
