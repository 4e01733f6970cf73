'use strict'

// Reads the blobs behind hashes that differ, to show what was hashed.

const path = require('node:path')
const { openFile } = require('../../open-file.js')

/** @import { Diff } from 'session-tape' */
/** @import { Compared } from '../source.js' */

const HASH = /^[0-9a-f]{64}$/
/** The number of bytes that are read of a blob. The page says so if a blob is longer. */
const MAX_BLOB = 65_536

/**
 * The texts behind differing hashes, if both runs have the blobs.
 *
 * @typedef {{ text: string, size: number, isWhole: boolean }} BlobText
 * @typedef {Map<string, { left: BlobText, right: BlobText }>} Blobs by the path of the field
 *
 * @type {(diff: Diff | null, leftSource: Compared, rightSource: Compared) => Promise<Blobs>}
 */
async function comparedBlobs(diff, leftSource, rightSource) {
  /** @type {Blobs} */
  const found = new Map()
  if (!diff || leftSource.kind !== 'run') return found
  for (const { path: field, left, right } of diff.fields.slice(0, 32)) {
    if (typeof left !== 'string' || typeof right !== 'string' || !HASH.test(left) || !HASH.test(right)) continue
    const texts = [await textOf(leftSource.root, left), await textOf(rightSource.root, right)]
    if (texts.every((text) => text !== null)) found.set(field, { left: texts[0], right: texts[1] })
  }
  return found
}

/** @type {(root: string, hash: string) => Promise<BlobText | null>} */
async function textOf(root, hash) {
  const handle = await openFile(path.join(root, 'blobs', hash.slice(0, 2), hash)).catch(() => null)
  if (handle === null) return null
  try {
    const { size } = await handle.stat()
    const { buffer, bytesRead } = await handle.read(
      Buffer.alloc(Math.min(size, MAX_BLOB)),
      0,
      Math.min(size, MAX_BLOB),
      0,
    )
    const isWhole = bytesRead === size
    return { text: decoded(buffer.subarray(0, bytesRead), isWhole), size, isWhole }
  } catch {
    // The page omits a blob that can't be read. Verification reports what is wrong with it.
    return null
  } finally {
    await handle.close()
  }
}

/**
 * Decodes UTF-8, without a character that is truncated at the end. Throws for binary content.
 *
 * @type {(bytes: Uint8Array, isWhole: boolean) => string}
 */
function decoded(bytes, isWhole) {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: !isWhole })
}

module.exports = { comparedBlobs }
