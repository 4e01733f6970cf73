// Why the addon was not loaded, and what to do about it.

import { addonPath } from './addon-by-path.js'

const { platform, arch, version, versions } = process

/** An addon that was not loaded. */
export interface AddonFailure {
  /** The platform that it is for. */
  name: string
  error: Error & { code?: string; resource?: string }
}

/** The name of what runs this. */
const runtime = ('bun' in versions && 'Bun') || 'Node.js'

const failure = (code: string, message: string, cause?: Error): Error =>
  Object.assign(new Error(message, cause && { cause }), { code })

export const oldNode = (system: string, oldest: number) =>
  failure(
    'UnsupportedRuntime',
    `session-tape needs Node.js ${oldest} or newer, and this is ${version} on ${system}: install a newer one`,
  )

export const unsupported = (system: string, supported: string[]) =>
  failure(
    'UnsupportedPlatform',
    `session-tape has no package for ${system}. There is one for each of ${supported.join(', ')}`,
  )

/** Reports the error of this platform's addon, which is the most informative, or else that of any addon that was found. */
export function notLoaded(failures: [AddonFailure, ...AddonFailure[]]): Error {
  const wanted = platformName(failures)
  const found = failures.filter(({ error }) => !hasCode(error, /MODULE_NOT_FOUND$/))
  const own = found.find(({ name }) => name === wanted)
  const { error } = own ?? found[0] ?? failures[0]
  const what = own ? unusable(wanted, error) : missing(wanted, found)
  const details = found.length > 0 ? ` (${error.message})` : ''
  return failure('NoAddon', `session-tape can't load its addon for ${wanted}. ${what}${details}`, error)
}

const packageOf = (name: string) => `@session-tape/binding-${name}`

/** Whether the code of an error, if it has one, matches. */
const hasCode = ({ code }: AddonFailure['error'], pattern: RegExp) => code !== undefined && pattern.test(code)

function unusable(wanted: string, error: AddonFailure['error']): string {
  if (hasCode(error, /ACCESS_DENIED$/))
    return `${runtime} may not read the package ${packageOf(wanted)}: ${readable(error.resource)}`
  const installed = `The package ${packageOf(wanted)} is installed`
  if (hasCode(error, /DLOPEN_DISABLED$/)) return `${installed}, but ${runtime} may not load addons: ${allowed()}`
  const remedy =
    REMEDIES.find(({ text }) => text.test(error.message))?.remedy ?? 'remove node_modules and install again'
  return `${installed}, but does not load: ${remedy}`
}

/** What to do about errors of the system's loader that another installation would not change. */
const REMEDIES = [
  {
    text: /failed to map segment|permission denied|not permitted/i,
    remedy:
      'the system does not let it run, as on a file system that is mounted with `noexec`. Install it elsewhere, or allow it',
  },
  { text: /version `GLIBC/, remedy: 'it needs a newer C library, so a newer version of the system' },
]

/** How to permit reading a file. `resource` is in the package's directory. */
function readable(resource: string | undefined): string {
  const directory = String(resource).replace(/[^\\/]*$/, '')
  return `start it with \`--allow-fs-read=${directory}*\``
}

/** How to permit addons, which an option turns off, and Node's permissions do unless another option allows them. */
function allowed(): string {
  const flags = [...process.execArgv, ...(process.env.NODE_OPTIONS ?? '').split(/\s+/)]
  const steps: string[] = []
  if (flags.includes('--no-addons')) steps.push('without `--no-addons`')
  // There is none without that option.
  const isRestricted = (process.permission as typeof process.permission | undefined) !== undefined
  if (isRestricted && !flags.includes('--allow-addons'))
    steps.push('with `--allow-addons`, which `--permission` requires')
  return `start it ${steps.length > 0 ? steps.join(' and ') : 'with `--allow-addons` and without `--no-addons`'}`
}

function missing(wanted: string, found: AddonFailure[]): string {
  if (found.length === 0 && addonPath(wanted) !== undefined) {
    return `The package ${packageOf(wanted)} is installed, but has lost its file session-tape.${wanted}.node: remove node_modules and install again`
  }
  const other = found.length > 0 ? `, but ${packageOf(found[0]!.name)} is, which is for another C library` : ''
  const remedy = 'Install again without leaving out optional dependencies (`--omit=optional`, `--no-optional`)'
  return `The package ${packageOf(wanted)} is not installed${other}. ${remedy}; after a change of platform, without the old node_modules and lock file`
}

/** This platform's name, which on Linux includes the C library. Asking for it takes longer than loading the addon. */
function platformName(failures: [AddonFailure, ...AddonFailure[]]): string {
  if (platform !== 'linux') return failures[0].name
  const report = process.report?.getReport() as { header: { glibcVersionRuntime?: string } } | undefined
  const isGlibc = report?.header.glibcVersionRuntime !== undefined
  return `linux-${arch}-${isGlibc ? 'gnu' : 'musl'}`
}
