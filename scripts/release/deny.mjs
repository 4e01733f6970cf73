// `cargo deny`: checks licences, sources and duplicates of the crates as deny.toml defines, and known vulnerabilities.
//
//   npm run deny -- [CHECK...]
//
// These work offline: `npm run deny -- bans licenses sources`. The remaining check, `advisories`, fetches RustSec's database from GitHub.

import { spawnSync } from 'node:child_process'

import { ROOT } from '../platforms/commands.mjs'
import { cargoTool } from './cargo-tools.mjs'

const { status } = spawnSync(cargoTool('cargo-deny'), ['check', ...process.argv.slice(2)], {
  cwd: ROOT,
  stdio: 'inherit',
})
process.exitCode = status ?? 1
