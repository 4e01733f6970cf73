/**
 * A process that lists, as a user who may not read everything or beside what might block it. Arguments: job, and the
 * directory or the files. Prints the result.
 */
import { listSessions, readSessionHeader, readSessionHeaders } from '../../index.js';

const [job, ...paths] = process.argv.slice(2);
const jobs = {
  list: () => listSessions(paths[0]),
  header: () => readSessionHeader(paths[0]),
  headers: () => readSessionHeaders(paths),
  directory: () => readSessionHeaders(paths[0]),
};
console.log(JSON.stringify(await jobs[job]()));
