/** The life of a session. */
import { section, table, met, times, time, megabytes, grouped } from './format.mjs'

const TARGETS_TARGET = 6
const LISTING_TARGET = 20
const RESUME_TARGET_MS = 10
const NAMING_TARGET = 2
const STOP_TARGET_MS = 25

export function sessionsReport({ sessions, targets, listing, life, lock }) {
  const { ms, more, resumeRatio, forkRatio, naming } = life
  const row = (title, { plainMs }, side, target) => [
    title,
    time(plainMs),
    time(side.ms),
    times(side.ratio),
    target ? `≥ ${target}×` : '—',
    target ? met(side.ratio.median >= target) : '—',
    time(side.stop),
  ]
  return section(
    'The life of a session',
    `A project of ${sessions} sessions of 2 MB, and a directory of ${grouped(listing.files)} small sessions. The plain engine replays strictly, 8 files at a time; its listing
reads first lines through readline. Both sides gave the same results. The longest delay of an idle event loop in the same rounds: ${time(Math.max(targets.idleStop, listing.idleStop))}.`,
    table(
      ['what', 'plain', 'session-tape', 'ratio', 'target', 'met', 'longest delay'],
      [
        row('`listContinueTargets`', targets, targets.addon, TARGETS_TARGET),
        row(
          `\`listSessions\`, ${grouped(listing.files)} files, against one after the other`,
          listing.loop,
          listing.loop.addon,
          LISTING_TARGET,
        ),
        row(`\`listSessions\`, ${grouped(listing.files)} files, against 32 at a time`, listing, listing.addon),
        row(`\`listContinueTargets\`, ${grouped(listing.files)} files`, listing.whole, listing.whole.targets),
      ],
    ),
    `One of the ${sessions} sessions has ${megabytes(life.bytes)}, and its last compression left 4 000 items.`,
    table(
      ['what', 'time', 'compared with', 'target', 'met'],
      [
        [
          'longest delay of `listContinueTargets`',
          time(targets.addon.stop),
          `${time(targets.idleStop)} idle`,
          `≤ ${STOP_TARGET_MS} ms`,
          met(targets.addon.stop <= STOP_TARGET_MS),
        ],
        [
          '`resumeSession`',
          time(ms.resumed),
          `${time(ms.replayed)} \`replaySession\`; plain engine ${times(resumeRatio)}`,
          `≤ ${RESUME_TARGET_MS} ms more`,
          met(more <= RESUME_TARGET_MS),
        ],
        [
          '`forkSession` near its end',
          time(ms.forked),
          `plain engine, which writes the items again: ${times(forkRatio)}`,
          '—',
          '—',
        ],
        ...(naming === undefined
          ? []
          : [
              [
                '`createCheckpoint` with a free name',
                time(naming.created),
                `${time(naming.listed)} \`listContinueTargets\`: ${times(naming.ratio)}`,
                `≤ ${NAMING_TARGET}×`,
                met(naming.ratio.median <= NAMING_TARGET),
              ],
            ]),
        ['`acquireSessionLock` and `release`', time(lock), 'two syncs of the disk', '—', '—'],
      ],
    ),
  )
}
