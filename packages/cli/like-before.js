'use strict'

const { chmod, chown, stat } = require('node:fs/promises')

/** @import { Stats } from 'node:fs' */

/**
 * Gives a file the owner, the group and the permissions of the one that it stands for. Rejects if the system refuses them.
 *
 * @type {(file: string, replaced: Stats) => Promise<void>}
 */
async function likeBefore(file, { uid, gid, mode }) {
  const own = await stat(file)
  if (own.uid !== uid || own.gid !== gid) await chown(file, uid, gid)
  await chmod(file, mode & 0o777)
}

module.exports = { likeBefore }
