'use strict'

// The page of what is served: made once, and again when what it shows has changed.

class MadePage {
  #make
  #html = null

  /** @param {() => string} make */
  constructor(make) {
    this.#make = make
  }

  /** Makes the page ahead of the first who asks for it: while the browser starts. */
  prepare() {
    setImmediate(() => {
      try {
        this.html()
      } catch {
        // Who asks for the page gets the error.
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
