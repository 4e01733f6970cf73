/** Numbers, times and foreign text as a person reads them in a terminal. */

export const count = (n) => n.toLocaleString('en-US', { maximumFractionDigits: 1 });

/** `1 item`, `2 items`. */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export function fileSize(bytes) {
  if (bytes < 1024) return plural(bytes, 'byte');
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power - 1]}`;
}

/** What passed between two moments: the two largest units, `2 d 3 h`, `6 min 2 s`. */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  const parts = [
    [Math.floor(seconds / 86400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ];
  const first = parts.findIndex(([n]) => n > 0);
  return parts
    .slice(first, first + 2)
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(' ');
}

/** How long the machine took. */
export const elapsed = (ms) =>
  ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`;

/** `2026-02-11 08:41:03 UTC`, or null for what is not a time. */
export function moment(text) {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? null : `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/**
 * Text out of a session, safe to print: one line, no control characters (an escape sequence in a tool's name could
 * otherwise repaint the terminal), no reversal of the reading direction, and no longer than `longest`.
 */
export function printable(text, longest = 400) {
  const line = String(text)
    .slice(0, longest * 4)
    .replace(/\s+/gu, ' ')
    .replace(/[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '')
    .trim();
  const letters = [...line];
  return letters.length > longest ? `${letters.slice(0, longest - 1).join('')}…` : line;
}

/** Colours for a stream: none for a pipe, a dumb terminal, or where NO_COLOR asks for none. */
export function coloursFor(stream, env = process.env) {
  const wanted = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  const on = !env.NO_COLOR && (wanted || (stream.isTTY === true && env.TERM !== 'dumb'));
  const colour = (open, close) => (text) => (on ? `\u001b[${open}m${text}\u001b[${close}m` : String(text));
  return {
    bold: colour(1, 22),
    dim: colour(2, 22),
    red: colour(31, 39),
    green: colour(32, 39),
    yellow: colour(33, 39),
    cyan: colour(36, 39),
  };
}
