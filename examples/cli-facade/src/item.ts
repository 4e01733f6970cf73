// An item as an example. A CLI has a type of its own, and no need of this file.

import type { ChronologyMarker } from 'session-tape'

export interface IContent {
  speaker: 'human' | 'ai' | 'tool'
  blocks: IContentBlock[]
  metadata?: { id?: string; tokens?: number; responsesStored?: boolean; chronology?: ChronologyMarker }
}

export type IContentBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_call'; id: string; name: string; parameters: Record<string, unknown> }
  | { type: 'tool_response'; callId: string; result: unknown }
