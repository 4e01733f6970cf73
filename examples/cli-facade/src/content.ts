// One item of a conversation, as the CLI stores it. session-tape only reads `speaker` and checks that `blocks` is an array.

import type { ChronologyMarker } from 'session-tape';

export interface IContent {
  speaker: 'human' | 'ai' | 'tool';
  blocks: IContentBlock[];
  metadata?: { id?: string; tokens?: number; responsesStored?: boolean; chronology?: ChronologyMarker };
}

export type IContentBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_call'; id: string; name: string; parameters: Record<string, unknown> }
  | { type: 'tool_response'; callId: string; result: unknown };

/** What a provider has stored belongs to the process that asked for it: a replayed item has nothing of it. */
export function withoutStoredResponses(item: IContent): IContent {
  if (item.metadata?.responsesStored === undefined) return item;
  const { responsesStored: _, ...metadata } = item.metadata;
  return { ...item, metadata };
}
