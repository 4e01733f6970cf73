// Programs that use the package, bundled as docs/bundlers.md describes and started without node_modules.

import assert from 'node:assert/strict';
import { copyFileSync, cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { start, succeed } from './environment.mjs';
import { TOOLS } from './tools.mjs';

const BANNER = "--banner:js=import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
const ESBUILD = [...TOOLS.esbuild, '--bundle', '--platform=node'];

/** A CommonJS program, for bundles that must be CommonJS. */
const CLASSIC = "const { replaySession } = require('session-tape')\nreplaySession('none').then(({ error }) => console.log(`session-tape works with a bundle: ${error}`))\n";

/** A program for Bun to compile, and a plugin that it loads from the disk. */
const HOST = 'const { run } = await import(process.argv[2]);\nawait run();\n';
const PLUGIN = "import { replaySession } from 'session-tape';\nexport const run = async () => console.log(`session-tape works in a plugin: ${(await replaySession('none')).error}`);\n";

/** `bundle` builds the program into the directory `out`; `run` starts it there. */
const BUNDLES = [
  {
    name: 'esbuild, an ES module beside the addon',
    bundle: (out) => [...ESBUILD, 'smoke.mjs', '--format=esm', '--loader:.node=copy', BANNER, `--outdir=${out}`, '--out-extension:.js=.mjs'],
    run: () => [process.execPath, 'smoke.mjs'],
    files: 2,
  },
  {
    name: 'esbuild, CommonJS beside the addon, minified',
    bundle: (out) => [...ESBUILD, 'classic.cjs', '--format=cjs', '--minify', '--loader:.node=copy', `--outdir=${out}`, '--out-extension:.js=.cjs'],
    run: () => [process.execPath, 'classic.cjs'],
    files: 2,
  },
  {
    name: 'bun build --target=node, beside the addon',
    bundle: (out) => [...TOOLS.bun, 'build', '--target=node', 'smoke.mjs', '--outdir', out],
    run: () => [process.execPath, 'smoke.js'],
    files: 2,
  },
  {
    name: 'bun build --compile, one file with the addon in it',
    bundle: (out) => [...TOOLS.bun, 'build', '--compile', 'smoke.mjs', '--outfile', join(out, 'smoke')],
    run: (directory) => [join(directory, 'smoke')],
    files: 1,
  },
];

export async function testBundlers({ project, directory, env, report }) {
  writeFileSync(join(project, 'classic.cjs'), CLASSIC);
  for (const [index, { name, bundle, run, files }] of BUNDLES.entries()) {
    await report.test(name, async () => {
      const [out, elsewhere] = [join(project, `bundle-${index}`), join(directory, 'bundles', String(index))];
      await succeed(bundle(out), { cwd: project, env });
      assert.equal(readdirSync(out).length, files, readdirSync(out).join(', '));
      cpSync(out, elsewhere, { recursive: true });
      assert.match(await succeed(run(elsewhere), { cwd: elsewhere, env }), /^session-tape works with /);
    });
  }
  await report.test('esbuild, the package beside the bundle', async () => {
    await succeed([...ESBUILD, 'smoke.mjs', '--format=esm', '--external:session-tape', '--outfile=bundle.mjs'], { cwd: project, env });
    assert.match(await succeed([process.execPath, 'bundle.mjs'], { cwd: project, env }), /^session-tape works with /);
  });
  await report.test('bun build --compile, with the package in a plugin that is on the disk', async () => {
    const host = join(directory, 'bundles', 'host');
    mkdirSync(host);
    writeFileSync(join(host, 'host.mjs'), HOST);
    writeFileSync(join(project, 'plugin.mjs'), PLUGIN);
    await succeed([...TOOLS.bun, 'build', '--compile', 'host.mjs', '--outfile', 'host'], { cwd: host, env });
    assert.match(await succeed([join(host, 'host'), join(project, 'plugin.mjs')], { cwd: host, env }), /^session-tape works in a plugin: /);
  });
  await report.test('a bundle without the addon says which package is missing', async () => {
    const bare = join(directory, 'bundles', 'bare');
    mkdirSync(bare, { recursive: true });
    copyFileSync(join(directory, 'bundles', '1', 'classic.cjs'), join(bare, 'classic.cjs'));
    const { status, stderr } = await start([process.execPath, 'classic.cjs'], { cwd: bare, env });
    assert.equal(status, 1);
    assert.ok(stderr.includes('The package @session-tape/binding-linux-x64-gnu is not installed'), stderr);
  });
}
