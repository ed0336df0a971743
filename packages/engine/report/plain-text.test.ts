import { commitSha, componentName, environmentName, type Health, type ReportedComponent, type ReportView } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { composeText } from './plain-text.ts';
import { createView } from './view.fake.ts';

const url = 'http://shop-calm-bay-1234.localhost';

const part = (name: string, digit: string, health: Health): ReportedComponent => ({
  name: componentName(name),
  health,
  message: '',
  commit: commitSha(digit.repeat(40)),
  serving: null,
  images: [],
  entry: false,
});

const view = (changes: Partial<ReportView>): ReportView =>
  createView({ name: environmentName('shop-calm-bay-1234'), url, components: [], ...changes });

describe('a report as plain text', () => {
  it.each<readonly [string, Partial<ReportView>, string]>([
    [
      'of something that is ready gives the address',
      { phase: 'Ready', components: [part('web', '1', 'ready'), part('api', '1', 'ready')] },
      `shop-calm-bay-1234: Ready\n${url}\n  web: ready at 111111111111\n  api: ready at 111111111111`,
    ],
    [
      'of something that is on its way says what it waits for',
      { phase: 'Progressing', summary: 'web is starting', components: [part('web', '2', 'starting')] },
      'shop-calm-bay-1234: Progressing\nweb is starting\n  web: starting at 222222222222',
    ],
    [
      'of something degraded gives the address and the reason',
      { phase: 'Degraded', summary: 'web does not get ready', components: [part('web', '2', 'failing')] },
      `shop-calm-bay-1234: Degraded\n${url}\nweb does not get ready\n  web: failing at 222222222222`,
    ],
    [
      'of something that failed gives the reason and no address',
      { phase: 'Failed', summary: 'eph.yaml:1:1: the file is empty' },
      'shop-calm-bay-1234: Failed\neph.yaml:1:1: the file is empty',
    ],
    [
      'of something that is going says why',
      { phase: 'Removing', summary: 'being removed: branch preview/a is gone' },
      'shop-calm-bay-1234: Removing\nbeing removed: branch preview/a is gone',
    ],
    [
      'of something that is gone says how to bring it back',
      { phase: 'Removed', summary: 'branch preview/a is gone', restoreHint: 'Push the branch or tag again to bring it back.' },
      'shop-calm-bay-1234: removed. Push the branch or tag again to bring it back.',
    ],
  ])('%s', (_, changes, text) => {
    expect(composeText(view(changes))).toBe(text);
  });

  it('holds no time', () => {
    const at = (time: string): string => composeText(view({ createdAt: time, updatedAt: time, expiresAt: time }));
    expect(at('2026-01-05T09:00:00.000Z')).toBe(at('2026-02-05T09:00:00.000Z'));
  });
});
