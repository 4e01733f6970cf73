import type { Form } from './carriers.mjs';

export declare const FORMS: Record<string, readonly Form[]>;
