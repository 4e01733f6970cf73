/** vitest's `test`, with properties: `test.prop([arbitraries], parameters)(name, check)`. Every spec takes it from here. */
import './task-collector';

export { fc, test } from '@fast-check/vitest';
