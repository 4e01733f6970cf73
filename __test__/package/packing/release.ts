// Makes the tarballs of a release, for this machine's platform alone, without publishing or changing the work tree.
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { npm, succeed } from './command.js'

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** The part of the output of `npm pack --json` that is used here. */
export interface Packed {
  filename: string
  unpackedSize: number
  files: { path: string; size: number }[]
}

export interface Release {
  /** The root package as it is in the work tree. */
  workTree: Packed
  /** Paths of the tarballs that a user gets. */
  rootTarball: string
  cliTarball: string
  platformTarball: string
  platform: Packed
  cli: Packed
  /** Names and tarballs of all direct and indirect dependencies of the command line but the library: a test has no registry. */
  dependencies: { name: string; tarball: string }[]
}

/** Packs the library, the package of `platform` and the command line, by the steps of a release. */
export async function makeRelease(directory: string, platform: string): Promise<Release> {
  const [workTree] = (await pack([ROOT], directory)) as [Packed]
  await succeed('tar', ['-xzf', workTree.filename], directory)
  const root = join(directory, 'package')
  const platformPackage = await addPlatformPackage(root, platform)
  await prePublish(root)

  const tarballs = await subfolder(directory, 'tarballs')
  const dependencies = await dependencyPaths()
  const packed = await pack([root, platformPackage, join(ROOT, 'packages', 'cli'), ...dependencies], tarballs)
  const [released, packedPlatform, cli, ...others] = packed as [Packed, Packed, Packed, ...Packed[]]
  return {
    workTree,
    rootTarball: join(tarballs, released.filename),
    cliTarball: join(tarballs, cli.filename),
    cli,
    platformTarball: join(tarballs, packedPlatform.filename),
    platform: packedPlatform,
    dependencies: dependencies.map((path, at) => ({
      name: path
        .split(/node_modules[\\/]/)
        .at(-1)!
        .replaceAll('\\', '/'),
      tarball: join(tarballs, others[at]!.filename),
    })),
  }
}

/** Paths of the dependencies as installed in the work tree, according to the lock file. */
async function dependencyPaths(): Promise<string[]> {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; optional?: boolean; devOptional?: boolean; link?: boolean }>
  }
  const installed = Object.entries(packages).filter(
    ([path, { dev, optional, devOptional, link }]) =>
      path.startsWith('node_modules/') && !dev && !optional && !devOptional && !link,
  )
  return installed.map(([path]) => join(ROOT, path))
}

/** Makes the platform package. Replaces `napi artifacts`, which adds the addon to it, and `npm run notices`, which needs other tools. */
async function addPlatformPackage(root: string, platform: string): Promise<string> {
  const folder = join(root, 'npm', platform)
  const addon = `session-tape.${platform}.node`
  await cp(join(ROOT, 'npm', platform), folder, { recursive: true })
  await cp(join(ROOT, addon), join(folder, addon))
  await cp(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  await writeFile(join(folder, 'THIRD-PARTY-NOTICES'), 'as a release has them')
  await keepOnlyTarget(join(root, 'package.json'), platform)
  return folder
}

/** Removes the other targets from the manifest, because their addons are not available. */
async function keepOnlyTarget(manifest: string, platform: string): Promise<void> {
  const content = JSON.parse(await readFile(manifest, 'utf8'))
  content.napi.targets = content.napi.targets.filter((target: string) => platformOf(target) === platform)
  await writeFile(manifest, JSON.stringify(content, null, 2))
}

/** The folder of npm/ that belongs to a Rust target: `x86_64-unknown-linux-gnu` → `linux-x64-gnu`. */
export function platformOf(target: string): string {
  const [cpu, , system, abi] = target.split('-') as [string, string, string, string?]
  const names: Record<string, string> = { x86_64: 'x64', aarch64: 'arm64', windows: 'win32' }
  return [names[system] ?? system, names[cpu], abi].filter((part) => part !== undefined).join('-')
}

/** Lists the platform packages in `optionalDependencies`, as publishing does, but publishes none. */
async function prePublish(root: string): Promise<void> {
  const napi = join(ROOT, 'node_modules', '@napi-rs', 'cli', 'dist', 'cli.js')
  await succeed(
    process.execPath,
    [napi, 'pre-publish', '--tag-style', 'npm', '--no-gh-release', '--skip-optional-publish'],
    root,
  )
}

/** Packs folders, in one process: npm takes longer to start than to pack. */
async function pack(folders: string[], destination: string): Promise<Packed[]> {
  return JSON.parse(
    await npm(['pack', '--json', '--ignore-scripts', '--pack-destination', destination, ...folders], ROOT),
  ) as Packed[]
}

async function subfolder(directory: string, name: string): Promise<string> {
  const path = join(directory, name)
  await mkdir(path)
  return path
}
