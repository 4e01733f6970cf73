// Items refer to images; a store has the images. The CLI's own store is one of this type.

import type { IContent } from './content.js'

export interface MediaStore {
  /** Rejects if the object of the reference is missing or altered. */
  readVerified(reference: never): Promise<unknown>
}

/** Asks the store for every reference of an item. Rejects with the store's error. Without a store nothing is asked. */
export async function verifyMedia(item: IContent, store: MediaStore | undefined): Promise<void> {
  if (store === undefined) return
  for (const block of (item as { blocks: readonly unknown[] }).blocks) {
    const { type, encoding } = (block ?? {}) as { type?: unknown; encoding?: unknown }
    if (type === 'media' && encoding === 'reference') await store.readVerified(block as never)
  }
}
