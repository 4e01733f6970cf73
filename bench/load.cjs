// A fresh process that loads the package in one way: `load.cjs TASK FILE`. Prints how many milliseconds that took, by the clock and of
// processor time. Nothing is loaded before the clock starts that a program would not have loaded by itself.
'use strict'

const [task, filePath] = process.argv.slice(2)

const tasks = {
  require: () => require('../index.js'),
  addon: () => process.dlopen({ exports: {} }, filePath),
  replay: () => require('../index.js').replaySession(filePath),
}

const cpuBefore = process.cpuUsage()
const started = process.hrtime.bigint()
Promise.resolve(tasks[task]()).then(() => {
  const ms = Number(process.hrtime.bigint() - started) / 1e6
  const { user, system } = process.cpuUsage(cpuBefore)
  process.stdout.write(JSON.stringify({ ms, cpuMs: (user + system) / 1000 }))
})
