import type { Crate } from './linked.mjs'

export function noticesText(file: string, notices: { title: string; text: string }[]): string
export function missingIn(text: string, crates: Crate[]): string[]
