import { defineConfig } from 'vitest/config';

/** Pure code: no processes, no files, nothing that one test file could leave to the next. */
const pure = ['packages/contract/**/*.test.ts', 'packages/engine/**/*.test.ts'];
const exclude = ['**/node_modules/**', '**/dist/**', 'test/gates/planted/**'];

export default defineConfig({
  test: {
    maxWorkers: 2,
    reporters: ['default', './test/parts/skipped-reporter.ts'],
    testTimeout: 30_000,
    // What is waited for comes; how soon, a busy machine decides.
    expect: { poll: { timeout: 25_000 } },
    hookTimeout: 60_000,
    projects: [
      // Starting a worker and importing modules takes longer than most of these tests, so that files share both.
      { extends: true, test: { name: 'pure', include: pure, exclude, pool: 'threads', isolate: false } },
      {
        extends: true,
        test: {
          name: 'real',
          include: ['packages/**/*.test.ts', 'apps/**/*.test.ts', 'test/**/*.test.ts', 'docs/**/*.test.ts'],
          exclude: [...exclude, ...pure],
          // Tests start real processes and watch real files: a process of their own keeps a leak from reaching the next file.
          pool: 'forks',
          globalSetup: './test/parts/shared-gitea.setup.ts',
        },
      },
    ],
  },
});
