/** Archives and restores a session until it is killed. Argument: its file. */
import tape from '../../index.js'

const [filePath] = process.argv.slice(2)
for (;;) {
  await tape.archiveSession(filePath)
  await tape.restoreSession(filePath)
}
