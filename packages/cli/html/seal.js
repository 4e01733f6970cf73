'use strict'

// The data that a page shows about a verified bundle: its seal, whether it is signed, and what was redacted.

const { access, readFile } = require('node:fs/promises')
const path = require('node:path')

/**
 * @param {string} root the bundle's directory
 * @param {import('session-tape').BundleInfo} info
 * @param {boolean} isTrusted whether its signature was checked against keys of the user
 */
async function sealOf(root, info, isTrusted) {
  const { bundleId, files, bytes, redactions, partial } = info
  const isSigned = await access(path.join(root, 'manifest.sig')).then(
    () => true,
    () => false,
  )
  const signature = !isSigned
    ? 'not signed'
    : isTrusted
      ? 'signed by a key that you trust'
      : 'signed; no key was given to check by whom'
  return {
    bundleId,
    files,
    bytes,
    redactions,
    partial,
    signature,
    redacted: redactions > 0 ? await redactedIn(root) : NOTHING,
  }
}

/**
 * @typedef {Awaited<ReturnType<typeof sealOf>>} Seal
 * @typedef {{ lines: [line: number, rules: string[]][], events: [time: number, rules: string[]][], blobs: number, files: number }} Redacted
 * @typedef {{ lines?: LineRules[], events?: EventRules[], blobs?: unknown[], files?: unknown[] }} Redactions the document `redactions.json`
 * @typedef {{ line: number, rules: string[] }} LineRules
 * @typedef {{ time: number, rules: string[] }} EventRules
 */

/** @type {Redacted} */
const NOTHING = { lines: [], events: [], blobs: 0, files: 0 }

/** The places that were redacted, each with the rules that hit. @type {(root: string) => Promise<Redacted>} */
async function redactedIn(root) {
  /** @type {Redactions} */
  const {
    lines = [],
    events = [],
    blobs = [],
    files = [],
  } = JSON.parse(await readFile(path.join(root, 'redactions.json'), 'utf8'))
  return {
    lines: lines.map(({ line, rules }) => [line, rules]),
    events: events.map(({ time, rules }) => [time, rules]),
    blobs: blobs.length,
    files: files.length,
  }
}

module.exports = { sealOf }
