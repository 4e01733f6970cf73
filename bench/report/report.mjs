/** The figures as Markdown. Each target stands beside what was measured, met or not. */
import { bundlesReport } from './bundles.mjs';
import { diffReport } from './diff.mjs';
import { durableReport, imageReport } from './durable.mjs';
import { section, table } from './format.mjs';
import { headersReport } from './headers.mjs';
import { largeReport, snapshotReport } from './large-files.mjs';
import { loadingReport } from './loading.mjs';
import { recordingReport } from './recording.mjs';
import { replayReport } from './replay.mjs';
import { runsReport } from './runs.mjs';
import { sessionsReport } from './sessions.mjs';

/** The report of a part for all runtimes together, or for each of them. */
const together = (reportOf) => reportOf;
const each = (reportOf) => (runtimes) => runtimes.map(({ title, figures }) => reportOf(title, figures)).join('\n\n');
const alone = (reportOf) => each((_, figures) => reportOf(figures));

const REPORTS = {
  replay: together(replayReport),
  record: together(recordingReport),
  require: together(loadingReport),
  header: together(headersReport),
  runs: each(runsReport),
  snapshot: alone(snapshotReport),
  large: alone(largeReport),
  sessions: alone(sessionsReport),
  durable: alone(durableReport),
  image: alone(imageReport),
  diff: alone(diffReport),
  bundles: alone(bundlesReport),
};

/** The order of the runtimes, in every table. */
const rank = (name) => (name === 'bun' ? Infinity : Number(name.replace('node', '')));

export function report({ machine, runtimes, parts }) {
  const names = Object.keys(runtimes).sort((one, other) => rank(one) - rank(other));
  const measured = (part) => names.filter((name) => name in parts[part]).map((name) => ({ ...runtimes[name], ...parts[part][name] }));
  const sections = Object.keys(REPORTS).filter((part) => part in parts).map((part) => REPORTS[part](measured(part)));
  const isQuick = Object.values(parts).some((part) => Object.values(part).some(({ scale }) => scale < 1));
  const about = [
    '# Benchmark results',
    `Made by \`npm run bench\`; what is compared, and how, is in [README.md](README.md). Medians; ratios are the median of
the ratios of the rounds, in which both sides ran one after the other, the lowest and highest in brackets.`,
    isQuick && '**A quick look: a tenth of each workload.**',
    table(['Machine', ''], Object.entries({ ...machine, ...versions(names, runtimes) })),
    ...sections,
    conditions(names.map((name) => runtimes[name]), parts),
  ];
  return `${about.filter(Boolean).join('\n\n')}\n`;
}

const versions = (names, runtimes) => Object.fromEntries(names.map((name) => [runtimes[name].title, runtimes[name].version]));

/** When each part was measured. */
function conditions(runtimes, parts) {
  const rows = Object.entries(parts).map(([part, on]) => [
    part,
    ...runtimes.map(({ name }) => (name in on ? `${on[name].date}, load ${on[name].load.toFixed(1)}, ${on[name].rounds} rounds` : '')),
  ]);
  const explained = 'The load is that of the machine before: a quiet one has 0.0, and figures from a busy one are worth less.';
  return section('When', explained, table(['part', ...runtimes.map(({ title }) => title)], rows));
}
