import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // The examples import the package by its name, as in a project of their own.
  resolve: { alias: { 'session-tape': fileURLToPath(new URL('index.mjs', import.meta.url)) } },
  test: {
    include: ['__test__/**/*.spec.ts', 'examples/*/test/*.spec.ts'],
    globalSetup: '__test__/support/temporary-root.ts',
    // Processes, not threads: some tests change the umask, the user or the working directory, or end the process.
    pool: 'forks',
    // By itself vitest takes one process less than there are cores: on two cores, one spec file at a time.
    maxWorkers: '100%',
    // Limits against a hang, not expectations: a busy two-core machine takes its time.
    testTimeout: 120_000,
    hookTimeout: 300_000,
    typecheck: {
      enabled: true,
      include: ['__test__/**/*.test-d.ts'],
      tsconfig: './tsconfig.json',
      // What is wrong in other files, `npm run typecheck` reports.
      ignoreSourceErrors: true,
    },
  },
});
