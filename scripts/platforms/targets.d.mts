/** The least version of a system; `null` in an addon that says none. */
export interface Minimum {
  system: string
  version: string | null
}

export interface Expected {
  format: string
  architecture: string
  minimum: Minimum
  libraries: string[]
}

export interface Target {
  name: string
  triple: string
  expected: Expected
}

export const TARGETS: Target[]
export const ENTRY_POINT: string
export function addonPath(target: Target): string
export function chosenTargets(names: string[]): Target[]
