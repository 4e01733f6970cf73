// Vitest runs this for each spec, also where several specs share a process and its modules.

import { afterAll, afterEach } from 'vitest';
import { endSpec, endTest } from './spec-scope';

afterEach(endTest);
afterAll(endSpec);
