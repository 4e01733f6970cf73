// The table that `npm run build:all` prints at its end.

const HEADINGS = ['file', 'size', 'architecture', 'needs at least', 'libraries', 'exports', '']

/** @param {{ file: string, facts: object, problems: string[] }[]} addons */
export function table(addons) {
  const rows = [HEADINGS, ...addons.map(row)]
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((cells) => cells[column].length)))
  return rows
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function row({ file, facts, problems }) {
  const { system, version } = facts.minimum
  return [
    file,
    `${(facts.size / 1e6).toFixed(2)} MB`,
    facts.architecture,
    version === null ? '?' : `${system} ${version}`,
    [...new Set(facts.libraries.map(short))].join(' '),
    facts.exports.length > 3 ? `${facts.exports.length} symbols` : facts.exports.join(' '),
    problems.length === 0 ? 'as expected' : 'WRONG',
  ]
}

/** The name of a library without its directory; the universal C runtime of Windows counts as one library. */
const short = (library) => library.replace(/^.*\//, '').replace(/^api-ms-win-crt-.*/, 'api-ms-win-crt-*')
