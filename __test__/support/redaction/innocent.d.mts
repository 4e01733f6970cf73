import type { Written } from './carriers.mjs'

export declare const INNOCENT: Record<string, readonly (readonly [name: string, written: Written])[]>
