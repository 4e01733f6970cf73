// The types of `import`: the same names as those of `require`. A file of its own because TypeScript takes the
// module kind of the JavaScript from the extension of its declarations.
export * from './index.js';
