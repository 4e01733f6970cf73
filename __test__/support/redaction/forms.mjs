// All forms of secrets that an export with default options has to remove.

import { ENCODED } from './forms-encoded.mjs'
import { NAMED } from './forms-named.mjs'
import { TOKENS } from './forms-tokens.mjs'
import { TOOLS } from './forms-tools.mjs'
import { WEB } from './forms-web.mjs'

export const FORMS = {
  'a value with a name': NAMED,
  'a token': TOKENS,
  'a request': WEB,
  'a tool': TOOLS,
  'in another spelling': ENCODED,
}

/** The names of forms that the rules do not find. docs/redaction.md counts them as misses. */
export const NOT_FOUND = new Set([
  'code: a comparison',
  'once more, as a form encodes it',
  'once more, in upper-case hex with colons',
])

/** Whether the rules find a form. */
export const isFound = ([name]) => !NOT_FOUND.has(name)
