// The addon's functions and classes, as `napi build` describes them.

export type * from '../../binding.js'
export type Binding = typeof import('../../binding.js')
