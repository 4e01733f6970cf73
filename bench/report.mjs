/** The figures as Markdown. Each target stands beside what was measured, met or not. */

const STOP_TARGET_MS = 25;
const MEMORY_TARGET = 64 << 20;
const HEADER_TARGET = 5;
const TARGETS_TARGET = 6;
const TARGETS_AGAIN_TARGET = 50;
const LISTING_TARGET = 20;
const RESUME_TARGET_MS = 10;
const NAMING_TARGET = 2;
const REOPEN_TARGET_MS = 20;
const THREAD_TARGET = 1.3;
const RUN_TARGET = 1e6;
const VERIFY_TARGET = 1.2;
const APPEND_TARGET = 1.25;
const DIFF_TARGET = 1.2;
const BUNDLE_RATIO_TARGET = 5;
const BUNDLE_TARGET = 400e6;
const BUNDLE_MEMORY_TARGET = 128 << 20;
const REPLAY_TARGETS = { compacted: 10, plain: 2.5, small: 3, tiny: 1.5 };

export function report({ machine, rounds, quick, replay, snapshot, large, headers, sessions, record, durable, image, runs, diff, bundles }) {
  const parts = [
    '# Benchmark results',
    `Made by \`npm run bench\`; what is compared, and how, is in [README.md](README.md). Medians; ratios are the median of
the ratios of ${rounds} rounds, in which both sides ran one after the other, the lowest and highest in brackets.`,
    quick && '**A quick look: a tenth of each workload.**',
    table(['Machine', ''], Object.entries(machine)),
    replay && replayReport(replay),
    snapshot && snapshotReport(snapshot),
    large && largeReport(large),
    headers && headersReport(headers),
    sessions && sessionsReport(sessions),
    record && recordReport(record),
    durable && durableReport(durable),
    image && imageReport(image),
    runs && runsReport(runs),
    diff && diffReport(diff),
    bundles && bundlesReport(bundles),
  ];
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}

function replayReport(results) {
  return section(
    'Replay',
    `The plain engine is readline and \`JSON.parse\` a line. Both sides gave deep-equal results, key order included, before
they were timed. Processor time is that of all threads: what other programs do on the machine is not in it.`,
    table(
      ['workload', 'file', 'plain engine', 'session-tape', 'ratio', 'target', 'met', 'ratio of processor time'],
      results.map(({ name, title, bytes, ms, ratio, cpuRatio }) => [
        title,
        size(bytes),
        time(ms.plain),
        time(ms.addon),
        times(ratio),
        `≥ ${REPLAY_TARGETS[name]}×`,
        met(ratio.median >= REPLAY_TARGETS[name]),
        times(cpuRatio),
      ]),
    ),
    `The longest stop of the event loop: median of the rounds / worst of all. The watcher looks every millisecond, so a loop
without any stop shows 1 ms and what the machine adds; *idle* is a loop that waited for a timer, in the same rounds.`,
    table(
      ['workload', 'plain engine', 'session-tape', 'idle', 'target', 'met'],
      results.map(({ title, stops }) => [
        title,
        stop(stops.plain),
        stop(stops.addon),
        stop(stops.idle),
        `≤ ${STOP_TARGET_MS} ms`,
        met(stops.addon.worst <= STOP_TARGET_MS, stops.addon.median <= STOP_TARGET_MS && 'median only'),
      ]),
    ),
    `Peak memory over what the process had before (processes of their own, median of three). *Beyond the history* is the
peak without what the result still holds when all garbage is collected; V8's young generation and slack are in it.`,
    table(
      ['workload', 'plain engine', 'session-tape', 'history', 'session-tape beyond the history', 'target', 'met'],
      results.map(({ title, memory }) => [
        title,
        size(memory.plain.peak),
        size(memory.addon.peak),
        size(memory.addon.retained),
        size(memory.addon.over),
        `≤ ${size(MEMORY_TARGET)}`,
        met(memory.addon.over <= MEMORY_TARGET),
      ]),
    ),
  );
}

function snapshotReport({ bytes, items, parse, whole, unchanged, grown }) {
  const limit = REOPEN_TARGET_MS + parse;
  return section(
    `Reopening ${megabytes(bytes)}`,
    `A session whose last compression left ${grouped(items)} items, with \`snapshot: true\`. *Unchanged*: not written to since, and for some
seconds before the snapshot. *Grown*: a record more each time; all that was there before is compared with its digests.`,
    table(
      ['replay', 'time', 'target', 'met'],
      [
        ['whole, without a snapshot', time(whole), '—', '—'],
        ['unchanged', time(unchanged), `≤ ${REOPEN_TARGET_MS} ms + parse`, met(unchanged <= limit)],
        ['grown', time(grown), `≤ ${REOPEN_TARGET_MS} ms + parse`, met(grown <= limit)],
        ["`JSON.parse` of the history's items alone", time(parse), '—', '—'],
      ],
    ),
  );
}

function largeReport({ page, memory }) {
  return section(
    'Large files',
    table(
      ['what', 'file', 'time', 'peak memory', 'target', 'met'],
      [
        [
          '`openSession` with a snapshot, the last 50 items',
          megabytes(page.bytes),
          time(page.again),
          size(page.peak),
          'a few ms, a few MB',
          met(page.again <= 10 && page.peak <= 16 << 20),
        ],
        ['the same the first time', megabytes(page.bytes), time(page.first), '—', '—', '—'],
        [
          '`replaySession`',
          megabytes(memory.bytes),
          time(memory.ms),
          `${size(memory.peak - memory.retained)} beyond the history`,
          `≤ ${size(MEMORY_TARGET)}`,
          met(memory.peak - memory.retained <= MEMORY_TARGET),
        ],
      ],
    ),
    'Compressed every 4 000 records. What of a file is not in the page cache has to come from the disk.',
  );
}

function headersReport({ files, rows }) {
  return section(
    `Headers of ${grouped(files)} files`,
    'The files are in the page cache. The plain engine reads each through readline, in the same loop or in a pool of the same size.',
    table(
      ['way', 'readline', 'session-tape', 'ratio', 'longest stop', 'target', 'met'],
      rows.map(({ title, plainMs, addonMs, ratio, stop: ms }) => [
        title,
        time(plainMs),
        time(addonMs),
        times(ratio),
        time(ms),
        `≥ ${HEADER_TARGET}×`,
        met(ratio.median >= HEADER_TARGET),
      ]),
    ),
  );
}

function sessionsReport({ sessions, targets, listing, life, lock }) {
  const { ms, more, moreAgain, resumeRatio, forkRatio, naming } = life;
  const row = (title, { plainMs }, side, target) => [
    title,
    time(plainMs),
    time(side.ms),
    times(side.ratio),
    target ? `≥ ${target}×` : '—',
    target ? met(side.ratio.median >= target) : '—',
    time(side.stop),
  ];
  const worst = Math.max(targets.addon.stop, targets.again.stop);
  return section(
    'The life of a session',
    `A project of ${sessions} sessions of 2 MB, and a directory of ${grouped(listing.files)} small sessions. The plain engine replays strictly, 8 files at a time; its listing
reads first lines through readline. Both sides found the same. The idle loop's longest stop in the same rounds: ${time(Math.max(targets.idleStop, listing.idleStop))}.`,
    table(
      ['what', 'plain', 'session-tape', 'ratio', 'target', 'met', 'longest stop'],
      [
        row('`listContinueTargets`, no snapshot', targets, targets.addon, TARGETS_TARGET),
        row('`listContinueTargets` again with `snapshot: true`', targets, targets.again, TARGETS_AGAIN_TARGET),
        row(`\`listSessions\`, ${grouped(listing.files)} files, against one after the other`, listing.loop, listing.loop.addon, LISTING_TARGET),
        row(`\`listSessions\`, ${grouped(listing.files)} files, against 32 at a time`, listing, listing.addon),
        row(`\`listContinueTargets\`, ${grouped(listing.files)} files`, listing.whole, listing.whole.targets),
      ],
    ),
    `Among the ${sessions} sessions one of ${megabytes(life.bytes)}, whose last compression left 4 000 items.`,
    table(
      ['what', 'time', 'beside', 'target', 'met'],
      [
        ['longest stop of both `listContinueTargets`', time(worst), `${time(targets.idleStop)} idle`, `≤ ${STOP_TARGET_MS} ms`, met(worst <= STOP_TARGET_MS)],
        ['`resumeSession`', time(ms.resumed), `${time(ms.replayed)} \`replaySession\`; plain engine ${times(resumeRatio)}`, `≤ ${RESUME_TARGET_MS} ms more`, met(more <= RESUME_TARGET_MS)],
        ['`resumeSession` with a snapshot', time(ms.resumedAgain), `${time(ms.replayedAgain)} \`replaySession\``, `≤ ${RESUME_TARGET_MS} ms more`, met(moreAgain <= RESUME_TARGET_MS)],
        ['`forkSession` near its end', time(ms.forked), `plain engine, which writes the items again: ${times(forkRatio)}`, '—', '—'],
        ['`createCheckpoint` with a free name, with snapshots', time(naming.created), `${time(naming.listed)} \`listContinueTargets\`: ${times(naming.ratio)}`, `≤ ${NAMING_TARGET}×`, met(naming.ratio.median <= NAMING_TARGET)],
        ['`acquireSessionLock` and `release`', time(lock), 'two syncs of the disk', '—', '—'],
      ],
    ),
  );
}

function recordReport({ events, lineBytes, rows, threadRatio, rivals }) {
  return section(
    'Recording',
    `${grouped(events)} events, ${Math.round(lineBytes)} bytes a line, 100 in each turn of the event loop, until all is handed to the
system. *In the call*: how long the caller waits. *Thread*: processor time of the JavaScript thread, callbacks and
garbage collection included.`,
    table(
      ['way', 'events/s', 'in the call, µs', 'thread, µs'],
      rows.map(({ title, writesNothing, perSecond, callMicros, threadMicros }) => [
        title,
        writesNothing ? '—' : grouped(Math.round(perSecond / 100) * 100),
        callMicros.toFixed(1),
        threadMicros.toFixed(1),
      ]),
    ),
    table(
      ['target', '', 'measured', 'met'],
      [
        [
          'thread, against `JSON.stringify` alone',
          `≤ ${THREAD_TARGET}×`,
          times(threadRatio),
          met(threadRatio.median <= THREAD_TARGET),
        ],
        ...rivals.map(({ title, speedup }) => [
          `events/s, against ${title} at its fastest`,
          '> 1×',
          times(speedup),
          met(speedup.median > 1),
        ]),
      ],
    ),
  );
}

function durableReport({ rows, ratio, syncs }) {
  const counted = syncs === null ? ['not counted: no strace here', '—'] : [grouped(syncs), met(syncs <= 1)];
  return section(
    'Durable recording',
    "`durability: 'fsync'`, 64 events with a flush each.",
    table(
      ['way', 'µs an event'],
      rows.map(([title, micros]) => [title, micros.toFixed(0)]),
    ),
    `Flushes that are asked for in one turn of the event loop wait together; those that come while a sync is under way share the next.`,
    table(
      ['target', '', 'measured', 'met'],
      [
        ['syncs that the system saw for 64 flushes waiting together', '1', ...counted],
        ['together, against one by one', '—', times(ratio), '—'],
      ],
    ),
  );
}

function imageReport({ tape, stringify }) {
  const copies = ({ peak, payload }) => (peak / payload).toFixed(2);
  const beyond = (tape.peak - stringify.peak) / tape.payload;
  return section(
    'An event of 20 MiB',
    `An image in base64, recorded and flushed: peak memory over what the process had with the image already there, in copies
of the image. Beyond what \`JSON.stringify\` takes a payload is to be copied twice at most: V8 makes one piece of the text, which
\`JSON.stringify\` left in several, and Rust takes that.`,
    table(
      ['way', 'copies'],
      [
        ['session-tape', copies(tape)],
        ['`JSON.stringify` of the envelope alone', copies(stringify)],
      ],
    ),
    table(
      ['target', '', 'measured', 'met'],
      [["copies beyond `JSON.stringify`'s own", '≤ 2', beyond.toFixed(2), met(beyond <= 2.05)]],
    ),
  );
}

function runsReport({ events, bytes, levels, memory, append }) {
  return section(
    'Runs',
    `A run of ${grouped(events)} events, ${Math.round(bytes / events)} bytes a line. *Wall* decides; processor time is that of all threads.`,
    table(
      ['`replayRun`', 'wall', 'processor', 'events/s', 'against `none`', 'target', 'met'],
      levels.map(({ verify, ms, cpuMs, perSecond, overhead }) => [
        `\`verify: '${verify}'\``,
        time(ms),
        time(cpuMs),
        grouped(Math.round(perSecond / 1000) * 1000),
        verify === 'none' ? '—' : times(overhead),
        ...runTarget(verify, perSecond, overhead),
      ]),
    ),
    'Peak memory over what the process had before, the state included: closed calls stay in it, ended tasks too.',
    table(
      ['events', 'log', '`none`', '`full`', '`full`, bytes an event'],
      memory.map((run) => [
        grouped(run.events),
        size(run.bytes),
        size(run.peak.none),
        size(run.peak.full),
        (run.peak.full / run.events).toFixed(0),
      ]),
    ),
    `\`RunRecorder.append\`, ${grouped(append[0].events)} events in bursts of 100 until all is handed to the system. What an event costs must not grow with the graph:`,
    table(
      ['nodes', 'events/s', 'in the call, µs', 'thread, µs', 'thread, against 10 nodes', 'target', 'met'],
      append.map(({ nodes, perSecond, callMicros, threadMicros, against }) => [
        grouped(nodes),
        grouped(Math.round(perSecond / 100) * 100),
        callMicros.toFixed(1),
        threadMicros.toFixed(1),
        nodes === append[0].nodes ? '—' : times(against),
        nodes === append[0].nodes ? '—' : `≤ ${APPEND_TARGET}×`,
        nodes === append[0].nodes ? '—' : met(against.median <= APPEND_TARGET),
      ]),
    ),
  );
}

function diffReport({ events, bytes, replays, sides, early, memory }) {
  return section(
    'Diff',
    `Two runs of ${grouped(events)} events each, ${size(bytes)} together, compared to their ends, beside \`replayRun\` of one and then of the other
(\`verify: 'chain'\`), which takes ${time(replays.ms)} (${time(replays.cpuMs)} of processor time).`,
    table(
      ['`diff` of a run and', 'wall', 'processor', 'against both replays', 'target', 'met'],
      sides.map(({ title, ms, cpuMs, ratio, hasTarget }) => [
        title,
        time(ms),
        time(cpuMs),
        times(ratio),
        hasTarget ? `≤ ${DIFF_TARGET}×` : '—',
        hasTarget ? met(ratio.median <= DIFF_TARGET) : '—',
      ]),
    ),
    `Two that part at their first event take ${time(early)}. Peak memory over what the process had before: ${size(memory)}.`,
  );
}

function runTarget(verify, perSecond, overhead) {
  if (verify === 'none') return [`≥ ${grouped(RUN_TARGET)} events/s`, met(perSecond >= RUN_TARGET)];
  if (verify === 'full') return [`≤ ${VERIFY_TARGET}×`, met(overhead.median <= VERIFY_TARGET)];
  return ['—', '—'];
}

function bundlesReport({ sizes, speeds, memory }) {
  const sum = (list) => list.reduce((total, one) => total + one, 0);
  const levels = Object.keys(sizes[0]?.archives ?? {});
  const together = { name: '**all**', bytes: sum(sizes.map(({ bytes }) => bytes)), archives: {} };
  for (const level of levels) together.archives[level] = sum(sizes.map(({ archives }) => archives[level]));
  const ratio = ({ bytes, archives }, level) => bytes / archives[level];
  return section(
    'Bundles',
    ...(sizes.length === 0
      ? []
      : [
          'Real recordings, as archives: how many times smaller than the file. The default is level 1.',
          table(
            ['recording', 'file', ...levels.map((level) => `level ${level}`), 'target', 'met'],
            [...sizes, together].map((one) => [
              one.name,
              size(one.bytes),
              ...levels.map((level) => `${ratio(one, level).toFixed(1)}×`),
              `≥ ${BUNDLE_RATIO_TARGET}×`,
              met(ratio(one, levels[0]) >= BUNDLE_RATIO_TARGET),
            ]),
          ),
        ]),
    'Input a second, by the clock and by the processor time of all threads, at the default level:',
    table(
      ['source', 'bytes', 'archive', '', 'wall', 'MB/s', 'MB/s of processor time', 'target', 'met'],
      speeds.flatMap(({ title, bytes, archive, figures }) =>
        figures.map(({ name, ms, perSecond, perCpuSecond }) => [
          title,
          size(bytes),
          `${(bytes / archive).toFixed(1)}×`,
          name,
          time(ms),
          (perSecond / 1e6).toFixed(0),
          (perCpuSecond / 1e6).toFixed(0),
          name.startsWith('import') ? '—' : `≥ ${BUNDLE_TARGET / 1e6} MB/s`,
          name.startsWith('import') ? '—' : met(perCpuSecond >= BUNDLE_TARGET, perSecond >= BUNDLE_TARGET && 'by the clock only'),
        ]),
      ),
    ),
    'Peak memory over what the process had before, for the run as an archive:',
    table(
      ['', 'peak', 'target', 'met'],
      Object.entries(memory).map(([job, peak]) => [job, size(peak), `≤ ${size(BUNDLE_MEMORY_TARGET)}`, met(peak <= BUNDLE_MEMORY_TARGET)]),
    ),
  );
}

const section = (title, ...parts) => [`## ${title}`, ...parts].join('\n\n');

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

const met = (yes, partly) => (yes ? 'yes' : partly ? `**no** (${partly})` : '**no**');
const times = ({ median, lowest, highest }) => `${median.toFixed(2)}× (${lowest.toFixed(2)}–${highest.toFixed(2)})`;
const time = (ms) =>
  ms < 1 ? `${(ms * 1000).toFixed(0)} µs` : ms < 100 ? `${ms.toFixed(1)} ms` : `${grouped(Math.round(ms))} ms`;
const stop = ({ median, worst }) => `${median.toFixed(1)} / ${worst.toFixed(1)} ms`;
const size = (bytes) =>
  bytes < 1 << 20 ? `${(bytes / 1024).toFixed(0)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
const megabytes = (bytes) => `${grouped(Math.round(bytes / 1e6))} MB`;
const grouped = (n) => n.toLocaleString('en-US').replaceAll(',', ' ');
