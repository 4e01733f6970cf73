// A new process that imports the package. Prints the same as `load.cjs`.
const cpuBefore = process.cpuUsage()
const started = process.hrtime.bigint()
await import('../index.mjs')
const ms = Number(process.hrtime.bigint() - started) / 1e6
const { user, system } = process.cpuUsage(cpuBefore)
process.stdout.write(JSON.stringify({ ms, cpuMs: (user + system) / 1000 }))
