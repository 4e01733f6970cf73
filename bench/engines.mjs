/** The two replay engines: the plain JavaScript engine of the tests, and the addon. */
import { replayFileWithReadline } from '../__test__/support/plain-engine.mjs'
import { replaySession } from '../index.mjs'

export const ENGINES = { plain: replayFileWithReadline, addon: replaySession }
