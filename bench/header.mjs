/** Session headers: a list of 10 000 past sessions. */
import { deepStrictEqual } from 'node:assert/strict';
import { readHeaderWithReadline } from '../__test__/plain-engine.mjs';
import * as tape from '../index.mjs';
import { inTurn, median, ratios, timed } from './measure.mjs';
import { headerFiles } from './workloads.mjs';

const POOL = 32;

export async function benchHeaders({ rounds, scale, say }) {
  const paths = headerFiles(Math.round(10_000 * scale));
  say(`headers of ${paths.length} files`);
  const ways = waysToRead(paths);
  const [expected, ...others] = await Promise.all(Object.values(ways).map((read) => read()));
  for (const headers of others) deepStrictEqual(headers, expected);

  const measured = await inTurn(
    Object.fromEntries(Object.entries(ways).map(([way, read]) => [way, () => timed(read)])),
    rounds,
  );
  const ms = Object.fromEntries(Object.entries(measured).map(([way, list]) => [way, list.map((one) => one.ms)]));
  const stops = Object.fromEntries(
    Object.entries(measured).map(([way, list]) => [way, median(list.map((one) => one.longestStopMs))]),
  );
  const row = (way, rival, title) =>
    ms[way] && {
      title,
      plainMs: median(ms[rival]),
      addonMs: median(ms[way]),
      ratio: ratios(ms[rival], ms[way]),
      stop: stops[way],
    };
  return {
    files: paths.length,
    rows: [
      row('addonLoop', 'plainLoop', '`readSessionHeader`, one after the other'),
      row('addonPool', 'plainPool', `\`readSessionHeader\`, ${POOL} at a time`),
      row('addonAll', 'plainPool', '`readSessionHeaders`, one call'),
    ].filter(Boolean),
  };
}

function waysToRead(paths) {
  const ways = {
    plainLoop: () => loop(paths, readHeaderWithReadline),
    addonLoop: () => loop(paths, tape.readSessionHeader),
    plainPool: () => pool(paths, readHeaderWithReadline),
    addonPool: () => pool(paths, tape.readSessionHeader),
  };
  if (typeof tape.readSessionHeaders === 'function') ways.addonAll = () => tape.readSessionHeaders(paths);
  return ways;
}

async function loop(paths, read) {
  const headers = [];
  for (const path of paths) headers.push(await read(path));
  return headers;
}

async function pool(paths, read) {
  const headers = new Array(paths.length);
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < paths.length; i = next++) headers[i] = await read(paths[i]);
  };
  await Promise.all(Array.from({ length: POOL }, worker));
  return headers;
}
