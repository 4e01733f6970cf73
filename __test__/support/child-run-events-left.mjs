// Begins to read a run's events, and never goes on.
import { readRunEvents } from '../../index.js';

const { value } = await readRunEvents(process.argv[2]).next();
console.log(JSON.stringify(value.eventId));
