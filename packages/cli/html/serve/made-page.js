'use strict'

// The page that is served. It is built once, and again after its content has changed.

class MadePage {
  #make
  /** @type {string | null} */
  #html = null

  /** @param {() => string} make */
  constructor(make) {
    this.#make = make
  }

  /** Builds the page before it is requested, while the browser starts. */
  prepare() {
    setImmediate(() => {
      try {
        this.html()
      } catch {
        // The request for the page gets the error.
      }
    })
  }

  html() {
    this.#html ??= this.#make()
    return this.#html
  }

  changed() {
    this.#html = null
  }
}

module.exports = { MadePage }
