'use strict'

const { fileSize } = require('./quantities.js')

/** Less is done before a bar could be looked at. */
const WORTH_A_BAR = 16 << 20

const NO_BAR = { at() {}, done() {} }

/**
 * Bars for the tasks of a command, one at a time, on the terminal; none elsewhere. A task is given its progress in bytes; its
 * bar appears with the first report of something large, and is removed at the end.
 */
function progressOn(stream) {
  if (stream.isTTY !== true) return () => NO_BAR
  return (task) => {
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
    // The program has its own, which removes the bar too.
    gracefulExit: false,
  })
  bar.start(1, 0)
  return bar
}

module.exports = { progressOn }
