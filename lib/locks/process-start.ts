// When processes began. Linux counts that from the boot, by a clock that stands still while a virtual machine is paused; so it says nothing in a
// machine whose clock was set since.

import fs = require('node:fs')

const { readFileSync, statSync } = fs

/** The kernel reports times in hundredths of a second, whatever its own clock. */
const TICKS_MS = 10

/** How far the time of the boot may be from that at which `/sys` was mounted, in a machine whose clock has run evenly since. */
const STEADY_MS = 2 * 60 * 1000

/** The position of the time of start in `/proc/<pid>/stat`, after the name of the program, which may contain anything but is in brackets. */
const START_FIELD = 20

/** When a process began, in milliseconds since 1970, or `NaN` if that is not known. */
export function startOf(pid: number): number {
  try {
    const began = msAfterBoot(pid)
    const boot = Date.now() - process.uptime() * 1000 - msAfterBoot('self')
    return isSteady(boot) ? boot + began : NaN
  } catch {
    return NaN
  }
}

function msAfterBoot(pid: number | 'self'): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const field = stat.slice(stat.lastIndexOf(')')).split(' ', START_FIELD + 1)[START_FIELD]
  return Number(field) * TICKS_MS
}

/** Whether `/sys` was mounted when the machine started, or for a container with it. Nothing in it has a later time unless the clock was set. */
function isSteady(boot: number): boolean {
  const mounted = statSync('/sys').mtimeMs
  return Math.abs(mounted - boot) < STEADY_MS || Math.abs(mounted - boot - msAfterBoot(1)) < STEADY_MS
}
