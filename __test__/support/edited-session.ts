/** A session with every event that edits the history. Shared by the specs of what shows sessions. */
import { session } from './session-file.js'
import type { Event } from './session-file.js'

const marker = (seq: number): object => ({ seq, userTurn: 1, step: 1, recordedAt: 3 })
const item = (speaker: string, text: string, seq: number): object => ({
  speaker,
  blocks: [{ type: 'text', text }],
  metadata: { chronology: marker(seq) },
})
const recorded = (speaker: string, text: string, seq: number): Event => [
  'content',
  { content: item(speaker, text, seq) },
]

/** Its events, behind the `session_start` in line 1. `word` is in every item that an edit brings. */
export function editedEvents(word: string): Event[] {
  return [
    recorded('human', 'text 3', 3),
    recorded('ai', 'text 4', 4),
    recorded('human', 'text 5', 5),
    recorded('ai', 'text 6', 6),
    recorded('human', 'text 7', 7),
    recorded('ai', 'text 8', 8),
    [
      'density_mutation',
      {
        removedSeqs: [7],
        replacements: [
          { replacedSeq: 3, replacement: item('human', `short 3 ${word}`, 3) },
          { replacedSeq: 5, replacement: item('human', 'short 5', 5) },
        ],
      },
    ],
    ['synthetic_insert', { content: item('ai', `inserted ${word}`, 20), chronologySeq: 20, afterSeq: 4 }],
    ['chronology_bind', { rowIndex: 2, chronology: marker(40), content: item('ai', `bound ${word}`, 40) }],
    ['chronology_bind', { rowIndex: 0, chronology: marker(41) }],
    ['compression_detail', { fromSeq: 1, toSeq: 2, itemsCompressed: 3 }],
    ['rewind', { itemsRemoved: 1, cutSeq: 6 }],
    [
      'semantic_media_purge',
      {
        history: [item('ai', `purged ${word}`, 50), item('ai', 'and', 51)],
        frontier: { contentIndex: 1, blockIndex: 0 },
      },
    ],
    recorded('human', 'the end', 60),
  ]
}

/** Its text, in which the purge is of version 2. */
export function editedSession(word = 'word', events = editedEvents(word)): string {
  return session(...events).replaceAll(/"v":1(?=[^\n]*"semantic_media_purge")/g, '"v":2')
}
