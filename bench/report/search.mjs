/** Search through sessions. */
import { grouped, megabytes, met, section, table, time, times } from './format.mjs'

export function searchReport({ sessions, bytes, many, ms, stop, ratio, regexRatio, ripgrepRatio }) {
  return section(
    'Search',
    `${grouped(sessions)} sessions, ${megabytes(bytes)}. The plain loop reads one file after the other with readline, parses every line and looks at every string.`,
    table(
      ['what', 'plain', '`searchSessions`', 'ratio', 'target', 'met'],
      [
        ['a rare literal', time(ms.plain), time(ms.addon), times(ratio), '≥ 25×', met(ratio.median >= 25)],
        [
          'a regular expression without a literal prefix',
          time(ms.plainRegex),
          time(ms.regex),
          times(regexRatio),
          '≥ 8×',
          met(regexRatio.median >= 8),
        ],
        ...(ripgrepRatio
          ? [
              [
                '`rg -c -i`',
                time(ms.ripgrep),
                time(ms.addon),
                times(ripgrepRatio),
                '≥ 0.5×',
                met(ripgrepRatio.median >= 0.5),
              ],
            ]
          : []),
        ['100 000 hits of a common literal', '', time(ms.common), '', '', ''],
        [`the first hit in ${grouped(sessions)} sessions`, '', time(ms.first), '', '≤ 20 ms', met(ms.first <= 20)],
        [
          `the first hit in ${grouped(many)} sessions`,
          '',
          time(ms.firstOfMany),
          '',
          '≤ 60 ms',
          met(ms.firstOfMany <= 60),
        ],
        [
          'longest delay of the event loop, every hit kept',
          '',
          `${stop.toFixed(1)} ms`,
          '',
          '≤ 16 ms',
          met(stop <= 16),
        ],
      ],
    ),
  )
}
