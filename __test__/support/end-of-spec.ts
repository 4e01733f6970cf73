// Vitest runs this for each spec, even if several specs share a process and its modules.

import { afterAll, afterEach } from 'vitest'
import './equal-bytes'
import { endSpec, endTest } from './spec-scope'

afterEach(endTest)
afterAll(endSpec)
