// A caller's function that every item of a result passes through.

/**
 * Makes an item of a result, for example without what a provider has stored. Called once for every item, in order, on the JavaScript thread.
 *
 * @param about - Given for an item that a `chronology_bind` with `invalidateResponses` has marked, and that was not replaced since.
 * @returns The item that takes its place; it may be the same.
 */
export type ItemMap<C> = (item: C, about?: { invalidateResponses: true }) => C

/** Maps items in place. `first` is the index of the first of them in the history, `invalidated` has the indices of items that are marked. */
export function mapItems<C>(items: C[], map: ItemMap<C>, invalidated: readonly number[], first = 0): void {
  const marked = new Set(invalidated)
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!
    items[index] = marked.has(first + index) ? map(item, { invalidateResponses: true }) : map(item)
  }
}
