/**
 * Lists, resumes, forks or deletes sessions: as a user without permission to read everything, or next to files that might block it. Arguments: job,
 * and the directory or the files. Prints the result; of some jobs also an error.
 */
import {
  deleteSession,
  forkSession,
  listContinueTargets,
  listSessions,
  readSessionHeaders,
  resumeSession,
} from '../../index.js'

const [job, ...paths] = process.argv.slice(2)
const rejected = ({ code, message, path }) => ({ rejected: code, message, path })
const resume = (recorder) =>
  resumeSession({
    continueRef: paths[2],
    chatsDir: paths[0],
    projectHash: paths[1],
    currentProvider: 'p',
    currentModel: 'm',
    workspaceDirs: [],
    recorder,
  }).catch(rejected)
/** Forks the session in a file at a checkpoint. `source` stands for its recorder. */
const fork = (source) => {
  const [chatsDir, projectHash, sessionId, filePath, checkpointId] = paths
  const target = { checkpointId, checkpointName: 'a name', source: { sessionId, filePath } }
  return forkSession(target, { chatsDir, projectHash, provider: 'p', model: 'm', workspaceDirs: [], source }).catch(
    rejected,
  )
}
const jobs = {
  list: () => listSessions(paths[0]),
  headers: () => readSessionHeaders(paths),
  directory: () => readSessionHeaders(paths[0]),
  targets: () => listContinueTargets(paths[0], paths[1]).catch(rejected),
  resume: () => resume(undefined),
  exclusive: () => resume({ exclusive: true }),
  fork: () => fork(null),
  forkOpen: () => fork({ ownsLockFor: () => true, flush: async () => {} }),
  delete: () => deleteSession(paths[2], paths[0], paths[1]).catch(rejected),
}
console.log(JSON.stringify(await jobs[job]()))
