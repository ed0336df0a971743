import { commitSha, componentName, environmentName, type ReportView } from '@eph/contract';

export const createView = (changes: Partial<ReportView> = {}): ReportView => ({
  name: environmentName('shop-calm-bay-1234'),
  url: 'http://shop-calm-bay-1234.localhost',
  phase: 'Ready',
  summary: '',
  commit: commitSha('1'.repeat(40)),
  components: [
    {
      name: componentName('web'),
      health: 'ready',
      message: '',
      commit: commitSha('1'.repeat(40)),
      serving: commitSha('1'.repeat(40)),
      images: [],
      entry: true,
    },
  ],
  waits: [],
  faults: [],
  notes: [],
  createdAt: '2026-01-05T09:00:00.000Z',
  updatedAt: '2026-01-05T09:30:00.000Z',
  expiresAt: null,
  restoreHint: 'Push the branch or tag again to bring it back.',
  ...changes,
});
