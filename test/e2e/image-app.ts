import { type EnvironmentView, environmentDetailSchema } from '@eph/contract';
import { expect } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { registry } from '../parts/registry.ts';
import { skopeo } from '../parts/skopeo.ts';
import type { EphdHarness } from './ephd-harness.ts';
import { runEph } from './run-eph.ts';
import { run, type Services, spec } from './sample-app.ts';
import type { Files } from './sample-repository.ts';

/** Answers with the image that it was given. */
const program = `
  import { createServer } from 'node:http';
  createServer((_, response) => response.end(process.env.EPH_IMAGE ?? 'none')).listen(Number(process.env.PORT), '127.0.0.1');
`;

/** A service that runs the image which it names. */
export const imageService = (image: string): Services => ({
  web: { command: [process.execPath, 'image.mjs'], image, entry: true, ready: { http: '/' } },
});

/** A commit with these services. */
export const imageApp = (services: Services, rest: Readonly<Record<string, unknown>> = {}, more: Files = {}): Files => ({
  'image.mjs': program,
  'answer.mjs': program,
  'eph.yaml': spec(services, rest),
  ...more,
});

/** A service that needs an image, and one beside it that needs none. */
export const appWith = (
  entry: Readonly<Record<string, unknown>>,
  more: Files = {},
  rest: Readonly<Record<string, unknown>> = {},
): Files =>
  imageApp(
    { ...imageService('app'), side: { command: run('answer.mjs'), ready: { http: '/' } } },
    { environment: { images: [{ name: 'app', ...entry }] }, ...rest },
    more,
  );

export const byTemplate = { tag_template: '{commit_sha:0:7}' };

export const imagesCondition = ({ conditions }: EnvironmentView): EnvironmentView['conditions'][number] | undefined =>
  conditions.find(({ type }) => type === 'ImagesResolved');

export const untilReason = (harness: EphdHarness, ref: string, reason: string): Promise<EnvironmentView> =>
  harness.until(ref, reason, (one) => imagesCondition(one)?.reason === reason, 60);

export const imageOf = async (harness: EphdHarness, { id }: EnvironmentView): Promise<unknown> => {
  const { components } = await harness.read(`/api/v1/environments/${id}`, environmentDetailSchema);
  return components.find(({ name }) => name === 'web')?.current?.images?.['app'];
};

/** What `eph why` says of it, which fits on one screen. */
export const why = async (harness: EphdHarness, { name }: Pick<EnvironmentView, 'name'>): Promise<string> => {
  const { out, err } = await runEph(harness, ['why', name]);
  const rows = out.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 80)), 0);
  expect(rows, `${out}${err}`).toBeLessThanOrEqual(24);
  return out;
};

/** A second suite inside: both programs are needed. */
export const describeImages = (title: string, suite: () => void): void =>
  describeWith(registry, title, () => describeWith(skopeo, 'pushed by skopeo', suite));
