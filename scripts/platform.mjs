// The name that npm, the addon's file and the folders of npm/ give to this machine.

/** For instance `linux-x64-gnu`, `darwin-arm64`, `win32-x64-msvc`. */
export function platformName() {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform === 'linux') return `${name}-${usesGlibc() ? 'gnu' : 'musl'}`;
  return process.platform === 'win32' ? `${name}-msvc` : name;
}

/** The addon's file, beside package.json in a work tree and alone in a platform package. */
export function addonFile() {
  return `session-tape.${platformName()}.node`;
}

function usesGlibc() {
  return Boolean(process.report?.getReport().header.glibcVersionRuntime);
}
