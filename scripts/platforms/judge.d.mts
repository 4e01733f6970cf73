import type { Expected } from './targets.mjs'
import type { Facts } from './toolchain.mjs'

export function problemsOf(facts: Facts, expected: Expected): string[]
