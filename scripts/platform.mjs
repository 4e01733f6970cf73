// The name of this machine's platform, as used by npm, the addon's file and the folders in npm/.

/** For instance `linux-x64-gnu`, `darwin-arm64`, `win32-x64-msvc`. */
export function platformName() {
  const name = `${process.platform}-${process.arch}`
  if (process.platform === 'linux') return `${name}-${usesGlibc() ? 'gnu' : 'musl'}`
  return process.platform === 'win32' ? `${name}-msvc` : name
}

/** The file name of the addon, which is next to package.json in a work tree, and in the platform package when published. */
export function addonFile() {
  return `session-tape.${platformName()}.node`
}

function usesGlibc() {
  return Boolean(process.report?.getReport().header.glibcVersionRuntime)
}
