/** The process that measures one part: `child.mjs PART OPTIONS`. Prints the figures as JSON. */
import { PARTS } from './parts.mjs'

const [name, options] = process.argv.slice(2)
const say = (text) => process.stderr.write(`${text}\n`)
const figures = await PARTS[name].measure({ ...JSON.parse(options), say })
process.stdout.write(JSON.stringify(figures))
