/**
 * Limits how much is done on this thread because it needs no waiting. Without a limit, a loop over files in the page cache would block timers and
 * input until the last file.
 */
export class AtOnce {
  #limit: number
  /** How many more calls may run here until one that ran elsewhere completes. */
  #left: number
  #round = 0

  constructor(limit: number) {
    this.#limit = this.#left = limit
  }

  /** Resolves to the result of `here` or, if the limit is reached or that result is `undefined`, to the result of `elsewhere`. */
  async first<T>(here: () => T | undefined, elsewhere: () => Promise<T>): Promise<T> {
    if (this.#left > 0) {
      this.#left -= 1
      const result = here()
      if (result !== undefined) return result
    }
    const askedIn = this.#round
    const result = await elsewhere()
    // This runs in a later turn of the event loop. Of several that complete in the same turn, only the first resets the limit.
    if (askedIn === this.#round) {
      this.#round += 1
      this.#left = this.#limit
    }
    return result
  }
}
