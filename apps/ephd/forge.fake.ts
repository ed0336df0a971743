import type { ConfiguredForge } from './config.ts';

/** One that nothing connects to. */
export const forgeCalled = (name: string): ConfiguredForge => ({
  name,
  type: 'gitlab',
  url: 'https://git.example.org',
  createServer: () => {
    throw new Error(`${name} cannot be reached`);
  },
  webhookSecret: undefined,
});
