import { defineConfig } from 'vitest/config';

/** These start nothing that outlives a test, and change nothing global: files may follow each other in one process. */
const shared = [
  'packages/contract/**/*.test.ts',
  'packages/engine/**/*.test.ts',
  'packages/adapters/forge-{http,github,gitlab}/**/*.test.ts',
  'test/parts/{emulation,github,gitlab}/**/*.test.ts',
];
// `vitest.cluster.config.ts` runs the suites that need a node.
const exclude = ['**/node_modules/**', '**/dist/**', 'test/gates/planted/**', '**/*.cluster.test.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    reporters: ['default', './test/parts/skipped-reporter.ts'],
    testTimeout: 30_000,
    // What is waited for comes; how soon, a busy machine decides.
    expect: { poll: { timeout: 25_000 } },
    hookTimeout: 60_000,
    provide: { fuzzFactor: Number(process.env['EPH_FUZZ'] ?? 1) },
    projects: [
      // The evaluation of modules once per file took longer than most of these tests.
      { extends: true, test: { name: 'shared', include: shared, exclude, isolate: false } },
      {
        extends: true,
        test: {
          name: 'separate',
          include: ['packages/**/*.test.ts', 'apps/**/*.test.ts', 'test/**/*.test.ts', 'docs/**/*.test.ts'],
          exclude: [...exclude, ...shared],
          // Tests start real processes and watch real files: a process of their own keeps a leak from reaching the next file.
          isolate: true,
          globalSetup: ['./test/parts/shared-gitea.setup.ts', './test/parts/shared-cluster.setup.ts'],
        },
      },
    ],
  },
});
