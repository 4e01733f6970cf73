// Snapshots, which make a repeated replay fast, are kept in a cache directory: a file beside a session would keep its directory from being emptied.

import { homedir } from 'node:os';
import { join } from 'node:path';

export const snapshotDir = (): string => join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'cli-facade', 'snapshots');
