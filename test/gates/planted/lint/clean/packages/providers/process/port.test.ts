import { describe, expect, it } from 'vitest';
import { describePort, parsePort } from './port.ts';

describe('a port', () => {
  it('says whether it is free', () => {
    expect(describePort(80, 'free')).toBe('Port 80 is free.');
  });

  it.skipIf(process.platform === 'win32')('is nothing while half written', () => {
    expect(parsePort('{')).toBeUndefined();
  });
});
