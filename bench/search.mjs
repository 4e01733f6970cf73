/** Search through 2 000 sessions of 266 KiB, all in the page cache; and the first hit among 10 000. */
import { deepStrictEqual } from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createReadStream, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import * as tape from '../index.mjs'
import { inTurn, median, ratios, timed } from './measure.mjs'
import { RARE_WORD, headerFiles, searchedFiles } from './workloads.mjs'

/** Numbers of lines in the output of programs are never followed by this. */
const EXPRESSION = '[0-9]{2}:[0-9]{2}:[0-9]{2}'

export async function benchSearch({ rounds, scale, say }) {
  const { directory, paths } = searchedFiles(Math.max(20, Math.round(2000 * scale)))
  const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0)
  say(`search: ${paths.length} sessions of 266 KiB`)
  const literal = (text) => (string) => string.toLowerCase().includes(text)
  const pattern = new RegExp(EXPRESSION)
  const plain = (matches) => () => searchedPlainly(paths, matches)
  const addon = (query, options) => () => hitsOf(directory, query, options)
  deepStrictEqual(placesOf(await addon(RARE_WORD)()), (await plain(literal(RARE_WORD))()).toSorted())
  const sides = {
    plain: () => timed(plain(literal(RARE_WORD))),
    addon: () => timed(addon(RARE_WORD)),
    plainRegex: () => timed(plain((string) => pattern.test(string))),
    regex: () => timed(addon(EXPRESSION, { regex: true })),
    common: () => timed(addon('session', { limit: 100_000 })),
    first: () => timed(addon('session', { limit: 1 })),
    ...(hasRipgrep() && { ripgrep: () => timed(() => ripgrep(directory)) }),
  }
  const measured = await inTurn(sides, rounds)
  say('search: the first hit among 10 000 sessions')
  const many = dirname(headerFiles(Math.round(10_000 * scale))[0])
  const { firstOfMany } = await inTurn(
    { firstOfMany: () => timed(() => hitsOf(many, 'session', { limit: 1 })) },
    rounds,
  )
  const all = { ...measured, firstOfMany }
  const times = (name) => measured[name].map(({ ms }) => ms)
  const ratioOf = (slower, faster) => ratios(times(slower), times(faster))
  return {
    sessions: paths.length,
    bytes,
    many: Math.round(10_000 * scale),
    ms: Object.fromEntries(Object.entries(all).map(([name, one]) => [name, median(one.map(({ ms }) => ms))])),
    stop: Math.max(
      ...[measured.addon, measured.regex, measured.common].flat().map(({ longestStopMs }) => longestStopMs),
    ),
    ratio: ratioOf('plain', 'addon'),
    regexRatio: ratioOf('plainRegex', 'regex'),
    ripgrepRatio: measured.ripgrep && ratioOf('ripgrep', 'addon'),
  }
}

async function hitsOf(where, query, options) {
  const hits = []
  for await (const hit of tape.searchSessions(where, query, options)) hits.push(hit)
  return hits
}

const placesOf = (hits) => hits.map(({ filePath, line }) => `${filePath}:${line}`).toSorted()

/** As programs do it: one file after the other, every line parsed, every string looked at. */
async function searchedPlainly(paths, matches) {
  const found = []
  for (const path of paths) {
    let number = 0
    for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
      number++
      const { content } = JSON.parse(line).payload
      for (const block of content?.blocks ?? []) if (hasMatch(block, matches)) found.push(`${path}:${number}`)
    }
  }
  return found
}

function hasMatch(value, matches) {
  if (typeof value === 'string') return matches(value)
  if (typeof value !== 'object' || value === null) return false
  for (const key of Object.keys(value)) if (hasMatch(value[key], matches)) return true
  return false
}

const hasRipgrep = () => spawnSync('rg', ['--version']).status === 0

function ripgrep(directory) {
  spawnSync('rg', ['-c', '-i', RARE_WORD, directory])
}
