/**
 * A process that opens a session, and must end by itself whatever became of the file. Arguments: job, file.
 */
import { statSync, truncateSync, writeFileSync } from 'node:fs';
import { openSession } from '../../index.js';

const [job, filePath] = process.argv.slice(2);
const opened = await openSession(filePath);
const { session } = opened;

const spoilers = {
  nothing() {},
  /** The same size, and not a byte of what was there. */
  overwritten: () => writeFileSync(filePath, Buffer.alloc(statSync(filePath).size, 'x')),
  truncated: () => truncateSync(filePath, 1000),
};
spoilers[job]();

const codes = [];
for (const range of [[], [0, 1], [-1]]) {
  try {
    codes.push((await session.items(...range)).length);
  } catch (error) {
    codes.push(error.code ?? String(error));
  }
}
console.log(JSON.stringify(codes));
