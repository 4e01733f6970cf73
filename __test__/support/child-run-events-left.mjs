// Reads the first event of a run, and abandons the iterator.
import { readRunEvents } from '../../index.js'

const { value } = await readRunEvents(process.argv[2]).next()
console.log(JSON.stringify(value.eventId))
