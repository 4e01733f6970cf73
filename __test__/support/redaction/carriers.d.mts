import type { Value } from './values.mjs'

export type Written = string | object
export type Form = readonly [
  name: string,
  value: Value,
  write: (secret: string, make: (value: Value) => string) => Written,
]
export interface SessionRecord {
  type: string
  payload: unknown
}

export declare function carriersOf(written: Written): Record<string, (written: Written) => SessionRecord>
export declare function filled(form: Form, place: string): { secret: string; written: Written; made: string[] }
export declare function sessionWith(records: readonly SessionRecord[]): string
export declare function sessionOfForm(form: Form): { secrets: Record<string, string>; text: string }
export declare function sessionOfText(written: Written): string
