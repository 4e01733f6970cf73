// One item of a conversation, as the CLI stores it. session-tape only reads `speaker` and checks that `blocks` is an array.

export interface IContent {
  speaker: 'human' | 'ai' | 'tool';
  blocks: IContentBlock[];
  metadata?: { id?: string; tokens?: number };
}

export type IContentBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_call'; id: string; name: string; parameters: Record<string, unknown> }
  | { type: 'tool_response'; callId: string; result: unknown };
