// Replays the run in a directory, and prints the result.
import { replayRun } from '../../index.js'

console.log(JSON.stringify(await replayRun(process.argv[2])))
