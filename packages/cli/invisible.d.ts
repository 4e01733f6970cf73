// The types of invisible.js, which is compiled from lib/invisible.ts.

export const INVISIBLE: RegExp
export const INVISIBLE_IN_LINES: RegExp
