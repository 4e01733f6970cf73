/** Describes the sessions of a directory. Prints the result, and how much the memory of the process has grown at most. */
import { readFileSync } from 'node:fs';
import tape from '../../index.js';

const peak = () => 1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);

await tape.describeSessions('.');
const before = peak();
const described = await tape.describeSessions(process.argv[2]);
console.log(JSON.stringify({ described, grown: peak() - before }));
