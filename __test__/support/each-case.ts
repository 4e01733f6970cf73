// Runs a table of cases as one test: a rule is one test, and the error names the case that failed.

import { inspect } from 'node:util'

export async function eachCase<const Case>(cases: readonly Case[], check: (oneCase: Case) => unknown): Promise<void> {
  for (const oneCase of cases) {
    try {
      await check(oneCase)
    } catch (error) {
      const shown = inspect(oneCase, { depth: 4, breakLength: Infinity, maxStringLength: 200 })
      throw new Error(`case ${shown}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
  }
}
