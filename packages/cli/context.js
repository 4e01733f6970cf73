'use strict'

const { coloursFor } = require('./colours.js')
const { Complaint, EXIT, failureOf } = require('./complaint.js')
const { jsonText } = require('./json-text.js')
const { Output } = require('./output.js')
const { progressOn } = require('./progress.js')

/** @import { Progress } from 'session-tape' */
/** @import { Colours } from './colours.js' */

/**
 * What a program runs in: `process`, and the signal that ends it.
 *
 * @typedef {{ stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream, env: NodeJS.ProcessEnv, signal: AbortSignal }} Surroundings
 */

/** The library's options for a long task. @typedef {{ signal?: AbortSignal, onProgress?: (progress: Progress) => void }} TaskOptions */

/** The context of a command: output, format of the result, cancellation and the library. */
class Context {
  /** @type {typeof import('session-tape') | undefined} */
  #tape

  /** @param {Surroundings} surroundings */
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
      const { code = 'NoAddon', message } = failureOf(error)
      throw new Complaint(code, `the addon can't be loaded: ${message}`)
    }
  }

  /**
   * Prints the result, as JSON or with `toText`.
   *
   * @template T
   * @param {T} result
   * @param {(result: T, colour: Colours, width: number) => string} toText
   */
  async print(result, toText) {
    await this.output.write(this.json ? `${jsonText(result)}\n` : toText(result, this.colour, this.width))
    await this.output.flush()
  }

  /**
   * Calls the library for a long task, with the options for cancellation and progress.
   *
   * @template T
   * @param {string} task
   * @param {(options: TaskOptions) => Promise<T>} work
   */
  async during(task, work) {
    const bar = this.progress(task)
    try {
      return await work({ signal: this.signal, onProgress: bar.at })
    } finally {
      bar.done()
    }
  }
}

// Only in this form is the class a type for other modules.
exports.Context = Context
