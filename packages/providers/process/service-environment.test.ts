import { describe, expect, it } from 'vitest';
import type { Service } from './service.ts';
import { computeServiceEnvironment } from './service-environment.ts';

const service = (env: Record<string, string>): Service => ({
  command: 'true',
  env,
  ready: { kind: 'none' },
  readyTimeoutSeconds: 1,
});
const facts = {
  marker: 'digest/environment/web/1',
  port: 20_001,
  secretOf: (name: string) => (name === 'TOKEN' ? 'hush' : undefined),
  url: 'http://shop.localhost:8080',
};

describe('the variables of a service', () => {
  it('hold nothing of ephd but what every program needs', () => {
    const own = { PATH: '/bin', HOME: '/home/eph', DATABASE_URL: 'postgres://eph:secret@db/eph', GITHUB_TOKEN: 'ghp_secret' };
    expect(computeServiceEnvironment(own, service({}), facts)).toEqual({
      PATH: '/bin',
      HOME: '/home/eph',
      PORT: '20001',
      EPH_INSTANCE: facts.marker,
    });
  });

  it('let the service choose everything except its port and its marker', () => {
    const chosen = { PATH: '/opt/bin', COLOUR: 'red', PORT: '80', EPH_INSTANCE: 'somebody else' };
    expect(computeServiceEnvironment({ PATH: '/bin' }, service(chosen), facts)).toEqual({
      PATH: '/opt/bin',
      COLOUR: 'red',
      PORT: '20001',
      EPH_INSTANCE: facts.marker,
    });
  });

  it('hold secrets, which nothing but the running service ever does', () => {
    const withSecret = { ...service({ COLOUR: 'red' }), secretEnv: { AUTHORIZATION: ['Bearer ', { secret: 'TOKEN' }] } };
    const variables = computeServiceEnvironment({}, withSecret, facts);
    expect(variables).toMatchObject({ COLOUR: 'red', AUTHORIZATION: 'Bearer hush' });
    expect(JSON.stringify(withSecret)).not.toContain('hush');
  });

  it('hold the URL of the environment as it is now', () => {
    const parts = [{ url: true, slice: { start: 0, length: 4 } }, ' ', { url: true }, '/x'] as const;
    const withUrl = { ...service({}), secretEnv: { EPH_URL: [...parts] } };
    expect(computeServiceEnvironment({}, withUrl, facts)).toHaveProperty('EPH_URL', 'http http://shop.localhost:8080/x');
    expect(computeServiceEnvironment({}, withUrl, { ...facts, url: 'http://b' })).toHaveProperty('EPH_URL', 'http http://b/x');
  });

  it('find programs even if ephd has no PATH', () => {
    expect(computeServiceEnvironment({}, service({}), facts)).toHaveProperty('PATH', '/usr/local/bin:/usr/bin:/bin');
  });
});
