/**
 * Makes @fast-check/vitest load in milliseconds instead of seconds, in each spec file. While it loads, it wraps every order in which the
 * modifiers of a test can be chained, and below each of them the same again for the `describe` and the `suite` that a test carries.
 * Specs import `describe` from vitest, so these two are removed from the collector that it wraps.
 */
import { TestRunner } from 'vitest'

const { createTaskCollector } = TestRunner

TestRunner.createTaskCollector = (collect) => {
  const collector = createTaskCollector(collect)
  // `collector` is the result, and its modifiers are copied from `collect`.
  for (const copied of [collector, collect]) {
    Reflect.deleteProperty(copied, 'describe')
    Reflect.deleteProperty(copied, 'suite')
  }
  return collector
}
