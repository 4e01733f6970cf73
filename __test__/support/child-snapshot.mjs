/** A process that replays with a snapshot and prints the result. Argument: file. */
import { replaySession } from '../../index.js';

console.log(JSON.stringify(await replaySession(process.argv[2], undefined, { snapshot: true })));
