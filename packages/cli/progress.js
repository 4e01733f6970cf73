'use strict'

const { fileSize } = require('./quantities.js')

/** @import { Progress } from 'session-tape' */
/** @typedef {{ at: (progress: Progress) => void, done: () => void }} Bar */

/** Smaller tasks finish before a bar would be noticed. */
const WORTH_A_BAR = 16 << 20

const NO_BAR = { at() {}, done() {} }

/**
 * Shows a progress bar for each task of a command, if the stream is a terminal. A task reports its progress in bytes. The bar appears
 * with the first report of a large task, and is removed at the end.
 *
 * @param {NodeJS.WriteStream} stream
 * @returns {(task: string) => Bar}
 */
function progressOn(stream) {
  if (stream.isTTY !== true) return () => NO_BAR
  return (task) => {
    /** @type {import('cli-progress').SingleBar | undefined} */
    let bar
    return {
      at({ bytes, total }) {
        if (total < WORTH_A_BAR) return
        bar ??= newBar(stream, task, total)
        bar.update(Math.min(bytes / total, 1))
      },
      done() {
        bar?.stop()
      },
    }
  }
}

/** @type {(stream: NodeJS.WriteStream, task: string, total: number) => import('cli-progress').SingleBar} */
function newBar(stream, task, total) {
  const { SingleBar } = require('cli-progress')
  const bar = new SingleBar({
    stream,
    format: `  ${task.padEnd(9)} {bar} {percentage} % of ${fileSize(total)}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 32,
    hideCursor: true,
    clearOnComplete: true,
    linewrap: false,
    // The program handles signals itself, and removes the bar.
    gracefulExit: false,
  })
  bar.start(1, 0)
  return bar
}

module.exports = { progressOn }
