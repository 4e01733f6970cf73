// The one place that names the CLI's own type of an item: these three lines are what a CLI changes. All other files have it from here.

import type { IContent as Item } from './item.js'

export type IContent = Item

/** What a provider has stored belongs to the process that asked for it: a replayed item says nothing of it. */
export function withoutStoredResponses(item: IContent): IContent {
  const { speaker, metadata } = item as { speaker: unknown; metadata?: unknown }
  const { responsesStored, ...others } = (metadata ?? {}) as { responsesStored?: unknown }
  return speaker === 'ai' && responsesStored === true ? ({ ...item, metadata: others } as unknown as IContent) : item
}
