// Snapshot documents.

import { createHash, createPublicKey, sign } from 'node:crypto'
import { canonicalJson, sha256 } from './canonical.mjs'
import { snapshotState, stateHash } from './state.mjs'

const PAYLOAD_TYPE = 'application/vnd.cath.snapshot+json'

/** A snapshot of the state after the event whose line has `eventHash`: its id, content hash and text. */
export function snapshotOf(state, eventHash, signWith) {
  const { logicalTime, run } = state
  return sealedSnapshot(
    {
      v: 1,
      snapshot: `snap_${logicalTime}`,
      runId: run.id,
      logicalTime,
      eventHash,
      stateHash: stateHash(state),
      state: snapshotState(state),
    },
    signWith,
  )
}

/** Completes a document with its `contentHash` and, given a key, its `signature`. */
export function sealedSnapshot(content, signWith) {
  const signed = canonicalJson(content)
  const contentHash = sha256(signed)
  const signature = signWith && signatureOf(signed, signWith)
  return { snapshotId: content.snapshot, contentHash, text: canonicalJson({ ...content, contentHash, signature }) }
}

function signatureOf(text, privateKey) {
  const payload = Buffer.from(text)
  const encoded = Buffer.concat([
    Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `),
    payload,
  ])
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  return {
    keyid: createHash('sha256').update(publicKey).digest('hex'),
    sig: sign(null, encoded, privateKey).toString('base64'),
  }
}
