// Names of speakers, and links to lines.

import { elWith } from '../dom.mjs'

export const SPEAKERS = { human: 'Human', ai: 'AI', tool: 'Tool' }

export const nameOf = (speaker) => (Object.hasOwn(SPEAKERS, speaker) ? SPEAKERS[speaker] : speaker)

export const lineLink = (line, text = `line ${line}`) => elWith('a.line-link', { href: `#line-${line}` }, text)
