// For specs whose files must be on a disk. This must be their first import: later ones may already create directories.

import { PREFIX } from './temporary-root.js'

if (process.env['TMPDIR']?.includes(PREFIX)) delete process.env['TMPDIR']
