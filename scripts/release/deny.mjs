// `cargo deny`: licences, sources and doubles of the crates by deny.toml, and what is known to be wrong with them.
//
//   npm run deny -- [CHECK...]
//
// Without the network: `npm run deny -- bans licenses sources`. The other, `advisories`, fetches RustSec's database from GitHub.

import { spawnSync } from 'node:child_process';

import { ROOT } from '../platforms/commands.mjs';
import { cargoTool } from './cargo-tools.mjs';

const { status } = spawnSync(await cargoTool('cargo-deny'), ['check', ...process.argv.slice(2)], { cwd: ROOT, stdio: 'inherit' });
process.exitCode = status ?? 1;
