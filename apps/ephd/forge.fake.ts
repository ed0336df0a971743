import type { ConfiguredForge } from './config.ts';

export const forgeCalled = (name: string): ConfiguredForge => ({
  name,
  type: 'gitlab',
  url: 'https://git.example.org',
  credentials: { token: { value: 'x', secret: true } },
  webhookSecret: undefined,
});
