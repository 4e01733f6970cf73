// A table of cases as one test: a rule is one test, and a failing row is named.

import { inspect } from 'node:util';

export async function eachCase<const Row extends readonly unknown[]>(
  rows: readonly Row[],
  check: (...row: Row) => unknown,
): Promise<void> {
  for (const row of rows) {
    try {
      await check(...row);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new Error(`case ${inspect(row, { depth: 4, breakLength: Infinity, maxStringLength: 200 })}: ${message}`, { cause: error });
    }
  }
}
