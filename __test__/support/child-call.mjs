/** Calls functions of the library, as another user for example. Arguments: their names and arguments as JSON. Prints what each returned, or its error. */
import tape from '../../index.js'

const results = []
for (const [name, ...args] of JSON.parse(process.argv[2])) {
  results.push(
    await tape[name](...args).then(
      (value) => ({ value }),
      ({ code, message, syscall }) => ({ code, message, syscall }),
    ),
  )
}
process.stdout.write(`${JSON.stringify(results)}\n`)
