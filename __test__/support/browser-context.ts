/** The package in a context with the globals of a browser beside `process` and `Buffer`, as jest's environment `jsdom` makes one. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import vm from 'node:vm'

import { PROJECT } from './command-line'

/** Timers of a browser are numbers, and there is no `setImmediate`. */
function browserGlobals(): Record<string, unknown> {
  const timers = new Map<number, NodeJS.Timeout>()
  const setTimer = (use: () => void, ms: number): number =>
    timers.set(timers.size + 1, setTimeout(use, ms).unref()).size
  const clearTimer = (id: number): void => clearTimeout(timers.get(id))
  const performance = { now: () => 0, timeOrigin: 0 }
  return {
    process,
    Buffer,
    console,
    performance,
    setTimeout: setTimer,
    clearTimeout: clearTimer,
    AbortController,
    AbortSignal,
  }
}

/** What `require` of a file of the package gives in such a context. */
export function inBrowserContext(file: string): unknown {
  const context = vm.createContext(browserGlobals())
  const loaded = new Map<string, { exports: unknown }>()
  const load = (path: string): unknown => {
    const known = loaded.get(path)
    if (known !== undefined) return known.exports
    const module = { exports: {} as unknown }
    loaded.set(path, module)
    const require = (name: string): unknown =>
      name.startsWith('.') && name.endsWith('.js') ? load(join(dirname(path), name)) : createRequire(path)(name)
    const parameters = ['module', 'exports', 'require', '__filename', '__dirname']
    const run = vm.compileFunction(readFileSync(path, 'utf8'), parameters, { filename: path, parsingContext: context })
    run.call(module.exports, module, module.exports, require, path, dirname(path))
    return module.exports
  }
  return load(join(PROJECT, file))
}
