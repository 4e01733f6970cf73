/** The two replay engines: the one of the tests, in plain JavaScript, and the addon. */
import { replayFileWithReadline } from '../__test__/support/plain-engine.mjs';
import { replaySession } from '../index.mjs';

export const ENGINES = { plain: replayFileWithReadline, addon: replaySession };
