// Compares versions like `1.2.3`.

/** For `sort`. Ignores what follows the numbers, as in `1.2.3+4`. */
export function newestFirst({ version: left }, { version: right }) {
  const [a, b] = [left, right].map((version) => version.split(/[.+-]/).slice(0, 3).map(Number))
  for (let at = 0; at < 3; at++) if (a[at] !== b[at]) return b[at] - a[at]
  return 0
}
