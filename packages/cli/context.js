'use strict'

const { coloursFor } = require('./colours.js')
const { Complaint, EXIT } = require('./complaint.js')
const { jsonText } = require('./json-text.js')
const { Output } = require('./output.js')
const { progressOn } = require('./progress.js')

/** The context of a command: output, format of the result, cancellation and the library. */
class Context {
  #tape

  constructor({ stdout, stderr, env, signal }) {
    this.stdout = stdout
    this.output = new Output(stdout)
    // Ignored, because there is nowhere left to report an error.
    stderr.on('error', () => {})
    this.stderr = stderr
    this.env = env
    this.colour = coloursFor(stdout, env)
    this.width = stdout.columns ?? 120
    this.signal = signal
    this.progress = progressOn(stderr)
  }

  /** Whether to print the result as JSON. */
  json = false
  exitCode = EXIT.fine
  /** Prints the help of a command that was called without a required subcommand. */
  missingCommand = ''

  /** The library, loaded on first use: `--help` does not need it. */
  get tape() {
    try {
      return (this.#tape ??= require('session-tape'))
    } catch (error) {
      throw new Complaint(error.code ?? 'NoAddon', `the addon can't be loaded: ${error.message}`)
    }
  }

  /** Prints the result, as JSON or with `toText`. */
  async print(result, toText) {
    await this.output.write(this.json ? `${jsonText(result)}\n` : toText(result, this.colour, this.width))
    await this.output.flush()
  }

  /** Calls the library for a long task, with the options for cancellation and progress. */
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
