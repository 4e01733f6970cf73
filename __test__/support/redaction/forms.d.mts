import type { Form } from './carriers.mjs'

export declare const FORMS: Record<string, readonly Form[]>
export declare const NOT_FOUND: ReadonlySet<string>
export declare function isFound(form: Form): boolean
