import { defineConfig } from 'vitest/config';

/** Suites whose pods really run. Their node takes a whole machine in a sense, and root: `npm test` leaves them out. */
export default defineConfig({
  test: {
    include: ['{packages,apps,test}/**/*.cluster.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', 'test/gates/planted/**'],
    pool: 'forks',
    maxWorkers: 2,
    reporters: ['default', './test/parts/skipped-reporter.ts'],
    testTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    hookTimeout: 120_000,
    globalSetup: ['./test/parts/shared-gitea.setup.ts', './test/parts/shared-node.setup.ts'],
  },
});
