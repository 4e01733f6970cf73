// The types for `import`: the same names as for `require`. This is a separate file because TypeScript derives the module kind of the JavaScript
// from the extension of its declarations.
export * from './index.js'
