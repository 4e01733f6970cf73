'use strict'

// Shows long output through the user's pager.

const { spawn } = require('node:child_process')
const { Output } = require('../output.js')

/** @import { ChildProcessByStdio, SpawnOptionsWithStdioTuple } from 'node:child_process' */
/** @import { Writable } from 'node:stream' */
/** @import { Context } from '../context.js' */

/**
 * Calls `write` with an output: on a terminal that of a pager, otherwise standard output. `PAGER` names the pager, `less` by default; if it is
 * empty or `cat`, there is none.
 *
 * @param {Pick<Context, 'stdout' | 'output' | 'env'>} context
 * @param {(output: InstanceType<typeof Output>) => Promise<void>} write
 */
async function throughPager({ stdout, output, env }, write) {
  const pager = stdout.isTTY && env.TERM !== 'dumb' ? await started(env.PAGER ?? 'less', env) : null
  if (pager === null) {
    await write(output)
    return output.flush()
  }
  const paged = new Output(pager.stdin)
  const closed = new Promise((resolve) => pager.on('close', resolve))
  await write(paged)
  await paged.flush()
  pager.stdin.end()
  await closed
}

/**
 * Resolves to the pager once it runs, or to null if there is none. `PAGER` may contain arguments, so a shell runs it, as `man` and `git` do.
 *
 * @type {(command: string, env: NodeJS.ProcessEnv) => Promise<ChildProcessByStdio<Writable, null, null> | null> | null}
 */
function started(command, env) {
  if (['', 'cat'].includes(command.trim())) return null
  /** @type {SpawnOptionsWithStdioTuple<'pipe', 'inherit', 'inherit'>} */
  const options = { stdio: ['pipe', 'inherit', 'inherit'], env: { LESS: 'FRX', LESSCHARSET: 'utf-8', ...env } }
  const child = env.PAGER === undefined ? spawn(command, options) : spawn(command, { ...options, shell: true })
  return new Promise((resolve) => {
    child.on('error', () => resolve(null))
    child.on('spawn', () => resolve(child))
  })
}

module.exports = { throughPager }
