import { expect, it } from 'vitest';
import { fakeComponent, fakeEnvironment } from './ephd.fake.ts';
import { Output } from './output.ts';
import { renderEnvironment } from './status-view.ts';
import { FakeStream } from './terminal.fake.ts';

const digest = `sha256:${'0123456789ab'.padEnd(64, '0')}`;

const pinned = (tag: string | null) => ({ reference: `ghcr.io/acme/api@${digest}`, tag, commit: null, request: 'r' });

const render = (environment: Parameters<typeof renderEnvironment>[1]): readonly string[] =>
  renderEnvironment(new Output(new FakeStream(), {}), environment, 0);

/** The column IMAGE of a component that runs them. */
const imagesOf = (images: Readonly<Record<string, ReturnType<typeof pinned> & { readonly fallback?: true }>>): string => {
  const { current } = fakeComponent();
  const lines = render(fakeEnvironment({ components: [fakeComponent({ current: current && { ...current, images } })] }));
  const at = lines.findIndex((line) => line.startsWith('COMPONENT'));
  return lines[at + 1]?.slice(lines[at]?.indexOf('IMAGE')).split('  ')[0] ?? '';
};

it.each([
  ['a tag', { api: pinned('pr-7') }, 'api pr-7'],
  ['a fall-back', { api: { ...pinned('latest'), fallback: true } }, 'api latest (fall-back)'],
  ['only a digest', { api: pinned(null) }, 'api sha256:0123456789ab'],
  ['an image that the file names with its tag', { 'redis:7': pinned('7') }, 'redis:7'],
  ['several images', { api: pinned('pr-7'), 'redis:7': pinned('7') }, 'api pr-7, redis:7'],
] as const)('the status of a component shows %s', (_, images, shown) => {
  expect(imagesOf(images)).toBe(shown);
});

it('the status has no column for images where nothing runs one', () => {
  expect(render(fakeEnvironment({ components: [fakeComponent()] })).join()).not.toContain('IMAGE');
});
