// For a spec whose files must be on a disk. The first import of such a spec: those after it may already make directories.

import { PREFIX } from './temporary-root.js';

if (process.env['TMPDIR']?.includes(PREFIX)) delete process.env['TMPDIR'];
