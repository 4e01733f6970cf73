// The types of the addon, which are written by hand, against the addon.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { PROJECT } from '../support/command-line'

const { native } = createRequire(import.meta.url)('../../dist/addon.js') as {
  native: Record<string, { prototype?: object }>
}
const source = readFileSync(join(PROJECT, 'lib', 'binding', 'native.ts'), 'utf8').replaceAll('\r\n', '\n')

/** The members of an interface. */
function membersOf(name: string): string[] {
  const body = new RegExp(`^export interface ${name} \\{(\\}|\n[^]*?^\\})`, 'm').exec(source)![1]!
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[(:]/gm)].map(([, member]) => member!).sort()
}

const isClass = (name: string): boolean => /^[A-Z]/.test(name)
const exported = Object.keys(native).sort()
const classes = exported.filter(isClass)

test('have every function of the addon, and no others', () => {
  expect(classes.length).toBeGreaterThan(5)
  expect(membersOf('Binding').filter((name) => !isClass(name))).toEqual(exported.filter((name) => !isClass(name)))
})

test.each(classes)('have every member of %s, and no others', (name) => {
  const members = Object.getOwnPropertyNames(native[name]!.prototype).filter((member) => member !== 'constructor')
  expect(membersOf(name)).toEqual(members.sort())
})
