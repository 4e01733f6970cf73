// Prints, as JSON, how many bytes of memory the texts of a replay take: with its whole history, with a few items far apart, and with none. `isExact`
// says whether nothing else is included.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { replaySession } from '../../index.mjs'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
const [path] = process.argv.slice(2)

/**
 * Resident memory in bytes after a garbage collection, on other threads too. `texts` is the memory that the addon allocates for texts, the only
 * one that is advised to use huge pages (the flag `hg`). `whole` is all memory; V8 keeps some of its own for later.
 */
async function resident() {
  for (let time = 0; time < 4; time++) {
    collect()
    await sleep(20)
  }
  const mappings = readFileSync('/proc/self/smaps', 'utf8').split(/^VmFlags:/m)
  // The flags of a mapping follow its numbers.
  const sizes = mappings
    .slice(1)
    .map((flags, index) => [/^[^\n]*\bhg\b/.test(flags), Number(/^Rss:\s+(\d+)/m.exec(mappings[index])[1]) * 1024])
  const sumOf = (all) => all.reduce((sum, [, size]) => sum + size, 0)
  return { texts: sumOf(sizes.filter(([isAdvised]) => isAdvised)), whole: sumOf(sizes) }
}

const before = await resident()
let { history } = await replaySession(path)
const bytes = history.reduce((sum, { blocks }) => sum + 2 * blocks[0].text.length, 0)
const all = await resident()
// Each item may keep its own pages in memory, but not the pages around them.
history = history.filter((_, index) => index % 2500 === 0)
const few = await resident()
history = undefined
const none = await resident()
// A system without huge pages ignores the advice, and while they are slow the addon does not give it.
const isExact = all.texts - before.texts > 0.7 * bytes
const grown = (now) => (isExact ? now.texts - before.texts : now.whole - before.whole)
process.stdout.write(JSON.stringify({ isExact, all: grown(all), few: grown(few), none: grown(none) }))
