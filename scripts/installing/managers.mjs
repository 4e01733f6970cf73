// How the package managers install for a given platform, where they support it, and where they put what they install.

import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { TOOLS } from './tools.mjs';

/** The library, and the command line, whose program is called like the library. */
const PACKAGES = ['session-tape', '@session-tape/cli'];
const PROGRAM = 'session-tape';
const SCOPE = '@session-tape';

/** @returns {{ os: string, cpu: string, libc?: string }} the system of a platform, which is named like its folder in npm/ */
export function systemOf(platform) {
  const [os, cpu, libc] = platform.split('-');
  return { os, cpu, ...(os === 'linux' ? { libc: libc === 'gnu' ? 'glibc' : libc } : {}) };
}

const options = (system) => Object.entries(system).map(([name, value]) => `--${name}=${value}`);
const yamlOf = (system) => ['supportedArchitectures:', ...Object.entries(system).map(([name, value]) => `  ${name}: [${value}]`)].join('\n');

const inNodeModules = (project) => names(join(project, 'node_modules', SCOPE)).filter((name) => name !== 'cli');
const names = (directory) => (existsSync(directory) ? readdirSync(directory) : []);
/** The bindings in folders whose names contain the name of a package, `@scope+name@1.0.0` or `@scope-name-npm-1.0.0`. */
const bindings = (found) => [...new Set(found.map((name) => /binding-((?:linux-\w+-(?:gnu|musl))|darwin-\w+|win32-\w+-msvc)/.exec(name)?.[0]).filter(Boolean))];

/** Newer versions of Yarn do not install a version that was published less than a day ago (`npmMinimalAgeGate`). */
const yarnConfiguration = (linker) => (project, system, { url }) =>
  writeFileSync(
    join(project, '.yarnrc.yml'),
    [
      `nodeLinker: ${linker}`,
      `npmRegistryServer: ${url}`,
      'unsafeHttpWhitelist: [localhost]',
      'enableTelemetry: false',
      'enableImmutableInstalls: false',
      'npmMinimalAgeGate: 0',
      // By default only for projects of `"type": "module"`; this one has an `.mjs`.
      'pnpEnableEsmLoader: true',
      `${yamlOf(system)}\n`,
    ].join('\n'),
  );

const yarn = (linker, installed) => ({
  name: `yarn 4, ${linker}`,
  configure: yarnConfiguration(linker),
  install: () => [...TOOLS.yarn, 'add', ...PACKAGES],
  installed,
  program: (args) => [...TOOLS.yarn, 'run', PROGRAM, ...args],
  node: (args) => [...TOOLS.yarn, 'node', ...args],
});

/** `program` starts the command line of the package, `node` starts a script of the project. */
export const MANAGERS = [
  {
    name: 'npm',
    install: (system) => [...TOOLS.npm, 'install', '--no-audit', '--no-fund', ...options(system), ...PACKAGES],
    installed: inNodeModules,
    program: (args) => [...TOOLS.npx, '--no-install', PROGRAM, ...args],
    node: (args) => [process.execPath, ...args],
  },
  {
    name: 'pnpm',
    configure: (project, system) => writeFileSync(join(project, 'pnpm-workspace.yaml'), `${yamlOf(system)}\n`),
    install: () => [...TOOLS.pnpm, 'add', ...PACKAGES],
    installed: (project) => bindings(names(join(project, 'node_modules', '.pnpm'))),
    program: (args) => [...TOOLS.pnpm, 'exec', PROGRAM, ...args],
    node: (args) => [process.execPath, ...args],
  },
  {
    name: 'yarn 1',
    // Installs only for the machine that it runs on, and does not distinguish C libraries: on Linux it installs the packages for both.
    onlyHere: true,
    expected: (platform) => (platform.startsWith('linux-') ? [platform.replace(/-\w+$/, '-gnu'), platform.replace(/-\w+$/, '-musl')] : [platform]),
    install: () => [...TOOLS.classicYarn, 'add', '--no-progress', ...PACKAGES],
    installed: inNodeModules,
    program: (args) => [...TOOLS.classicYarn, '--silent', 'run', PROGRAM, ...args],
    node: (args) => [process.execPath, ...args],
  },
  yarn('node-modules', inNodeModules),
  yarn('pnp', (project) => bindings(names(join(project, '.yarn', 'unplugged')))),
  {
    name: 'bun',
    configure: (project, _, { url }) => writeFileSync(join(project, 'bunfig.toml'), `[install]\nregistry = "${url}"\n`),
    install: (system) => [...TOOLS.bun, 'add', ...options(system), ...PACKAGES],
    installed: inNodeModules,
    program: (args) => [...TOOLS.bun, 'run', '--bun', PROGRAM, ...args],
    node: (args) => [...TOOLS.bun, ...args],
  },
];

/** Creates an empty project, configured for the package manager. Returns its directory. */
export function newProject(directory, manager, system, registry) {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ name: 'a-cli', version: '1.0.0', private: true }));
  manager.configure?.(directory, system, registry);
  return directory;
}
