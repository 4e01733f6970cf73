// A caller's function that every item of a result passes through.

import type { ItemMap } from './records.js'

/** Maps items in place. `first` is the index of the first of them in the history, `invalidated` has the indices of items that are marked. */
export function mapItems<C>(items: C[], map: ItemMap<C>, invalidated: readonly number[], first = 0): void {
  const marked = new Set(invalidated)
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!
    items[index] = marked.has(first + index) ? map(item, { invalidateResponses: true }) : map(item)
  }
}
