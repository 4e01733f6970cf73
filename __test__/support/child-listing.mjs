/**
 * Lists, resumes or deletes sessions: as a user without permission to read everything, or next to files that might block it. Arguments: job,
 * and the directory or the files. Prints the result; of some jobs also an error.
 */
import { deleteSession, describeSessions, listContinueTargets, listSessions, readSessionHeader, readSessionHeaders, resumeSession } from '../../index.js';

const [job, ...paths] = process.argv.slice(2);
const rejected = ({ code, message }) => ({ rejected: code, message });
const jobs = {
  list: () => listSessions(paths[0]),
  header: () => readSessionHeader(paths[0]),
  headers: () => readSessionHeaders(paths),
  directory: () => readSessionHeaders(paths[0]),
  describe: () => describeSessions(paths[0]),
  targets: () => listContinueTargets(paths[0], paths[1]).catch(rejected),
  resume: () => resumeSession({ continueRef: paths[2], chatsDir: paths[0], projectHash: paths[1], currentProvider: 'p', currentModel: 'm', workspaceDirs: [] }).catch(rejected),
  delete: () => deleteSession(paths[2], paths[0], paths[1]).catch(rejected),
};
console.log(JSON.stringify(await jobs[job]()));
