'use strict'

// Selects the events of a side for the page: all, or those at the beginning, around the divergence and at the end of a long log.

/** @import { PageEvent } from './gather.js' */

/** Takes the events of a side in order, and keeps the selected ones in bounded memory. */
class Window {
  #limits
  #divergence
  #wanted
  /** @type {PageEvent[]} */
  #kept = []
  /** @type {(() => PageEvent)[]} */
  #tail = []
  #bytes = 0
  #isWhole = true

  /**
   * @param {import('../limits.js').Limits} limits
   * @param {number | null} divergence number of the diverging event; null if this side has none
   * @param {Set<number | null>} wanted numbers of events that are always kept
   */
  constructor(limits, divergence, wanted) {
    this.#limits = limits
    this.#divergence = divergence
    this.#wanted = wanted
  }

  /** @type {(place: number, index: number, made: () => PageEvent) => void} `made` returns the event; called only if it may be kept */
  take(place, index, made) {
    if (!this.#isWhole) return this.#takeNarrowly(place, index, made)
    const event = made()
    this.#kept.push(event)
    this.#bytes += /** @type {string} */ (event.payload).length
    if (this.#kept.length > this.#limits.events || this.#bytes > this.#limits.bytes) this.#narrow()
  }

  /** @type {(place: number, index: number, made: () => PageEvent) => void} */
  #takeNarrowly(place, index, made) {
    if (this.#matters(place, index)) return void this.#kept.push(made())
    this.#tail.push(made)
    if (this.#tail.length >= 2 * this.#limits.tail + 2) this.#tail.splice(0, this.#tail.length - this.#limits.tail)
  }

  /** The kept events, in order. If their payloads exceed the limit, those farthest from the divergence are dropped. */
  finish() {
    if (this.#isWhole) return this.#kept
    const { tail } = this.#limits
    const events = [...this.#kept, ...(tail > 0 ? this.#tail.slice(-tail) : []).map((made) => made())].sort(
      (a, b) => a.index - b.index,
    )
    this.#dropFarPayloads(events)
    return events
  }

  #narrow() {
    this.#isWhole = false
    const all = this.#kept
    this.#kept = []
    for (const event of all) this.#takeNarrowly(event.place, event.index, () => event)
  }

  /** @type {(place: number, index: number) => boolean} */
  #matters(place, index) {
    const { head, around } = this.#limits
    if (index < head || this.#wanted.has(place)) return true
    return this.#divergence !== null && Math.abs(place - this.#divergence) <= around
  }

  /** @param {PageEvent[]} events */
  #dropFarPayloads(events) {
    const centre = this.#divergence ?? 0
    const nearestFirst = [...events].sort(
      (a, b) => Math.abs(a.place - centre) - Math.abs(b.place - centre) || a.index - b.index,
    )
    let room = this.#limits.bytes
    for (const event of nearestFirst) {
      room -= /** @type {string} */ (event.payload).length
      if (room < 0) event.payload = null
    }
  }
}

module.exports = { Window }
