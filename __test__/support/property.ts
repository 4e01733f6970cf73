/**
 * vitest's `test`, with properties: `test.prop([arbitraries], parameters)(name, check)`. The same as that of @fast-check/vitest, which builds every
 * chain of modifiers (`test.skip.concurrent.fails…`) as soon as it is imported: two seconds of each file.
 */
import * as fc from 'fast-check';
import { TestRunner, test as plainTest } from 'vitest';

type Arbitraries<Values> = { [Key in keyof Values]: fc.Arbitrary<Values[Key]> };
type Check<Values extends unknown[]> = (...values: Values) => boolean | void | PromiseLike<boolean | void>;

function prop<Values extends [unknown, ...unknown[]]>(arbitraries: Arbitraries<Values>, parameters: fc.Parameters<Values> = {}) {
  return (name: string, check: Check<Values>, timeout?: number): void => {
    const seed = parameters.seed ?? fc.readConfigureGlobal().seed ?? Date.now() ^ (Math.random() * 2 ** 32);
    const property = fc.asyncProperty<Values>(...arbitraries, async (...values) => check(...values));
    plainTest(`${name} (with seed=${seed})`, () => fc.assert(betweenHooks(property), { ...parameters, seed }), timeout);
  };
}

/** Runs the hooks of the test between two runs of a property too: each run finds what a test finds. */
function betweenHooks<Values>(property: fc.IAsyncPropertyWithHooks<Values>): fc.IAsyncPropertyWithHooks<Values> {
  const { context, suites } = runningTest();
  const before = suites.flatMap((suite) => TestRunner.getSuiteHooks(suite).beforeEach);
  const after = suites.toReversed().flatMap((suite) => TestRunner.getSuiteHooks(suite).afterEach.toReversed());
  let isFirst = true;
  return property.beforeEach(async () => {
    if (!isFirst) for (const hook of [...after, ...before]) await hook(context, suites.at(-1)!);
    isFirst = false;
  });
}

/** The context of the running test, and the suites that it is in, from the file inwards. */
function runningTest() {
  const test = TestRunner.getCurrentTest()!;
  const suites = [];
  for (let suite = test.suite; suite !== undefined && suite !== test.file; suite = suite.suite) suites.unshift(suite);
  return { context: test.context, suites: [test.file, ...suites] };
}

const test = Object.assign(plainTest, { prop });

export { fc, test };
