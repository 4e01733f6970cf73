// How much memory the texts of a replay take, in bytes: with all of its history, with some items far from each other, and with none. Printed as
// JSON.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { replaySession } from '../../index.mjs';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const [path] = process.argv.slice(2);

/**
 * What is resident once garbage is collected, on other threads too: in the memory that the addon has for texts, which is the only one with the
 * advice to use huge pages (the flag `hg`), and in all. V8 keeps some of its own memory for later.
 */
async function resident() {
  for (let time = 0; time < 4; time++) {
    collect();
    await sleep(20);
  }
  const mappings = readFileSync('/proc/self/smaps', 'utf8').split(/^VmFlags:/m);
  // The flags of a mapping stand behind its numbers.
  const sizes = mappings.slice(1).map((flags, index) => [/^[^\n]*\bhg\b/.test(flags), Number(/^Rss:\s+(\d+)/m.exec(mappings[index])[1]) * 1024]);
  const sumOf = (all) => all.reduce((sum, [, size]) => sum + size, 0);
  return { texts: sumOf(sizes.filter(([isAdvised]) => isAdvised)), whole: sumOf(sizes) };
}

const before = await resident();
let { history } = await replaySession(path);
const all = await resident();
// Each of them may keep what is on its page, but not what was in memory beside it.
history = history.filter((_, index) => index % 2500 === 0);
const few = await resident();
history = undefined;
const none = await resident();
// A system without huge pages takes no advice.
const measure = all.texts > 0 ? 'texts' : 'whole';
const grown = (now) => now[measure] - before[measure];
process.stdout.write(JSON.stringify({ all: grown(all), few: grown(few), none: grown(none) }));
