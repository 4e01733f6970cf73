/** The parts of the benchmark. Each runs in a separate process: on every runtime that was found, or only on the one that was started. */

import { RECORD_WORKLOADS, REPLAY_WORKLOADS } from './workloads.mjs'

/** `workloads`: the workloads that can be selected individually. */
const part = (load, name, everyRuntime = false, workloads = []) => ({
  measure: async (how) => (await load())[name](how),
  everyRuntime,
  workloads: workloads.map((workload) => workload.name),
})

export const PARTS = {
  replay: part(() => import('./replay.mjs'), 'benchReplay', true, REPLAY_WORKLOADS),
  record: part(() => import('./record.mjs'), 'benchRecord', true, RECORD_WORKLOADS),
  require: part(() => import('./require.mjs'), 'benchRequire', true),
  header: part(() => import('./header.mjs'), 'benchHeaders', true),
  records: part(() => import('./records.mjs'), 'benchRecords', true),
  runs: part(() => import('./runs.mjs'), 'benchRuns', true),
  sessions: part(() => import('./sessions.mjs'), 'benchSessions'),
  search: part(() => import('./search.mjs'), 'benchSearch'),
  archives: part(() => import('./archives.mjs'), 'benchArchives'),
  repair: part(() => import('./repair.mjs'), 'benchRepair'),
  agents: part(() => import('./agents.mjs'), 'benchAgents', true),
  durable: part(() => import('./durable.mjs'), 'benchDurable'),
  acknowledged: part(() => import('./acknowledged.mjs'), 'benchAcknowledged'),
  image: part(() => import('./memory.mjs'), 'benchImage'),
  dropped: part(() => import('./dropped.mjs'), 'benchDropped'),
  diff: part(() => import('./diff.mjs'), 'benchDiff'),
  bundles: part(() => import('./bundles.mjs'), 'benchBundles'),
  large: part(() => import('./large.mjs'), 'benchLarge'),
}
