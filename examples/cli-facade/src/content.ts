// What the CLI keeps as one item of a conversation. session-tape looks at `speaker` and at whether `blocks` is an array, at nothing else.

export interface IContent {
  speaker: 'human' | 'ai' | 'tool';
  blocks: IContentBlock[];
  metadata?: { id?: string; tokens?: number };
}

export type IContentBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_call'; id: string; name: string; parameters: Record<string, unknown> }
  | { type: 'tool_response'; callId: string; result: unknown };
