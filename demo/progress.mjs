/** A progress bar for files that take a moment, on the terminal; nothing where nobody watches. */
import cliProgress from 'cli-progress';
import { fileSize } from './format.mjs';

const WORTH_A_BAR = 16 << 20;

/**
 * @param {NodeJS.WriteStream} stream
 * @param {number} size of the file, in bytes
 * @returns {(task: string) => { at(share: number): void, done(): void }} a bar for each task, one at a time
 */
export function progressOn(stream, size) {
  if (stream.isTTY !== true || size < WORTH_A_BAR) return () => ({ at() {}, done() {} });
  return (task) => {
    const bar = new cliProgress.SingleBar({
      stream,
      format: `  ${task.padEnd(9)} {bar} {percentage} % of ${fileSize(size)}`,
      barCompleteChar: '█',
      barIncompleteChar: '░',
      barsize: 32,
      hideCursor: true,
      clearOnComplete: true,
      linewrap: false,
    });
    bar.start(1, 0);
    return { at: (share) => bar.update(Math.min(share, 1)), done: () => bar.stop() };
  };
}
