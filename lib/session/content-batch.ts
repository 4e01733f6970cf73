// Items that are recorded together and can be taken back.

import type { ContentBatch } from './recorder-config.js'

/** What a recorder does with a batch. */
interface Recorder {
  publish(): void
  rollBack(): void
  finalize(): void
}

/** How an error calls a batch in this state. */
const SHOWN = {
  prepared: 'not published',
  published: 'published already',
  finalized: 'finalized already',
  'rolled back': 'rolled back already',
}

export function contentBatch(recorder: Recorder): ContentBatch {
  let state: keyof typeof SHOWN = 'prepared'
  const expect = (what: string, ...allowed: (keyof typeof SHOWN)[]): void => {
    if (!allowed.includes(state)) throw new Error(`Cannot ${what} content batch: it is ${SHOWN[state]}`)
  }
  return {
    publish() {
      expect('publish', 'prepared')
      recorder.publish()
      state = 'published'
    },
    rollback() {
      expect('roll back', 'prepared', 'published')
      if (state === 'published') recorder.rollBack()
      state = 'rolled back'
    },
    finalize() {
      expect('finalize', 'published')
      recorder.finalize()
      state = 'finalized'
    },
  }
}
