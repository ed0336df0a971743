import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/**/*.test.ts', 'apps/**/*.test.ts', 'test/**/*.test.ts', 'docs/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', 'test/gates/planted/**'],
    // Tests start real processes and watch real files: a process of their own keeps a leak from reaching the next file.
    pool: 'forks',
    maxWorkers: 2,
    globalSetup: './test/parts/shared-gitea.setup.ts',
    reporters: ['default', './test/parts/skipped-reporter.ts'],
    testTimeout: 30_000,
    // What is waited for comes; how soon, a busy machine decides.
    expect: { poll: { timeout: 25_000 } },
    hookTimeout: 60_000,
  },
});
