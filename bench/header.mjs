/** Session headers: a list of 10 000 past sessions. */
import { deepStrictEqual } from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readHeaderWithReadline } from '../__test__/support/plain-engine.mjs'
import * as tape from '../index.mjs'
import { inTurn, median, ratios, timed } from './measure.mjs'
import { headerFiles } from './workloads.mjs'

const POOL = 32

export async function benchHeaders({ rounds, scale, say }) {
  const paths = headerFiles(Math.round(10_000 * scale))
  say(`headers of ${paths.length} files`)
  const ways = waysToRead(paths)
  const expected = await ways.plainLoop()
  for (const read of Object.values(ways)) deepStrictEqual(await read(), expected)

  const measured = await inTurn(
    Object.fromEntries(Object.entries(ways).map(([way, read]) => [way, () => timed(read)])),
    rounds,
  )
  const ms = Object.fromEntries(Object.entries(measured).map(([way, list]) => [way, list.map((one) => one.ms)]))
  const stops = Object.fromEntries(
    Object.entries(measured).map(([way, list]) => [way, median(list.map((one) => one.longestStopMs))]),
  )
  const row = (way, rival, title) => ({
    title,
    plainMs: median(ms[rival]),
    addonMs: median(ms[way]),
    ratio: ratios(ms[rival], ms[way]),
    stop: stops[way],
  })
  return {
    files: paths.length,
    rows: [
      row('addonLoop', 'plainLoop', '`readSessionHeader`, one after the other'),
      row('addonPool', 'plainPool', `\`readSessionHeader\`, ${POOL} at a time`),
      row('addonAll', 'plainLoop', '`readSessionHeaders`, one call, against the loop'),
      row('addonAll', 'plainPool', `\`readSessionHeaders\`, one call, against ${POOL} at a time`),
      row('addonDirectory', 'plainDirectory', `\`readSessionHeaders\` of the directory, against ${POOL} at a time`),
    ],
  }
}

function waysToRead(paths) {
  const directory = dirname(paths[0])
  return {
    plainLoop: () => loop(paths, readHeaderWithReadline),
    addonLoop: () => loop(paths, tape.readSessionHeader),
    plainPool: () => pool(paths, readHeaderWithReadline),
    addonPool: () => pool(paths, tape.readSessionHeader),
    addonAll: () => tape.readSessionHeaders(paths),
    plainDirectory: async () => pool(await pathsIn(directory), readHeaderWithReadline),
    addonDirectory: async () => (await tape.readSessionHeaders(directory)).map(({ header }) => header),
  }
}

async function pathsIn(directory) {
  const names = await readdir(directory)
  return names.sort().map((name) => join(directory, name))
}

async function loop(paths, read) {
  const headers = []
  for (const path of paths) headers.push(await read(path))
  return headers
}

async function pool(paths, read) {
  const headers = new Array(paths.length)
  let next = 0
  const worker = async () => {
    for (let i = next++; i < paths.length; i = next++) headers[i] = await read(paths[i])
  }
  await Promise.all(Array.from({ length: POOL }, worker))
  return headers
}
