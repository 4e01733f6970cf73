'use strict'

const { coloursFor } = require('./colours.js')
const { Complaint, EXIT } = require('./complaint.js')
const { jsonText } = require('./json-text.js')
const { Output } = require('./output.js')
const { progressOn } = require('./progress.js')

/** What every command is given: where its result goes, and how, and what stops it. */
class Context {
  #tape

  constructor({ stdout, stderr, env, signal }) {
    this.stdout = stdout
    this.output = new Output(stdout)
    // There is no reader for complaints, either.
    stderr.on('error', () => {})
    this.stderr = stderr
    this.env = env
    this.colour = coloursFor(stdout, env)
    this.width = stdout.columns ?? 120
    this.signal = signal
    this.progress = progressOn(stderr)
  }

  /** Whether the result is wanted as JSON. */
  json = false
  exitCode = EXIT.fine
  /** The help of what was called without one of its commands. */
  missingCommand = ''

  /** The library. Loaded when a command needs it: `--help` does not. */
  get tape() {
    try {
      return (this.#tape ??= require('../index.js'))
    } catch (error) {
      throw new Complaint('NoAddon', `the addon can't be loaded: ${error.message}`)
    }
  }

  /** What only this program needs of the library's inside. Loaded behind the library. */
  get inner() {
    return this.tape && { ...require('../lib/bundle.js'), ...require('../lib/run-replay.js') }
  }

  /** The result: as JSON, if that is wanted, else as the text that `toText` makes of it. */
  async print(result, toText) {
    await this.output.write(this.json ? `${jsonText(result)}\n` : toText(result, this.colour, this.width))
    await this.output.flush()
  }

  /** The options of the library's calls for a task that may take long: a signal and a progress callback. */
  async during(task, work) {
    const bar = this.progress(task)
    try {
      return await work({ signal: this.signal, onProgress: bar.at })
    } finally {
      bar.done()
    }
  }
}

module.exports = { Context }
