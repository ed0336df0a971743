import { describe, expect, it } from 'vitest';
import { apiTokenFile } from './token.ts';

describe('the file with the token of the API', () => {
  it.each([
    [{ XDG_STATE_HOME: '/state', HOME: '/home/ann' }, '/state/eph/token-7070'],
    [{ HOME: '/home/ann' }, '/home/ann/.local/state/eph/token-7070'],
    [{ XDG_STATE_HOME: '', HOME: '/home/ann' }, '/home/ann/.local/state/eph/token-7070'],
    [{ XDG_STATE_HOME: 'relative', HOME: '/home/ann' }, '/home/ann/.local/state/eph/token-7070'],
    [{ HOME: '' }, undefined],
    [{}, undefined],
  ])('of a user with %j is %s', (variables, file) => {
    expect(apiTokenFile(variables, 7070)).toBe(file);
  });
});
