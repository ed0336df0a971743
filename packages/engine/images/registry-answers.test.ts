import { EphError, projectId } from '@eph/contract';
import { expect, it } from 'vitest';
import type { InspectAnswer } from './registry.ts';
import { RegistryAnswers } from './registry-answers.ts';

const hour = 3_600_000;
const repository = 'registry.example/acme/api';

/** A registry that says of every image what the test says, and a clock that stands still. */
class Fixture {
  now = 0;
  readonly inspected: string[] = [];
  says: InspectAnswer | EphError = { state: 'found', created: undefined, labels: {} };
  readonly answers: RegistryAnswers;

  constructor(freshForMs = 30_000) {
    const unasked = () => Promise.reject(new EphError('internal', 'the test does not ask this'));
    const inspect = ({ reference }: { readonly reference: string }): Promise<InspectAnswer> => {
      this.inspected.push(reference);
      return this.says instanceof EphError ? Promise.reject(this.says) : Promise.resolve(this.says);
    };
    this.answers = new RegistryAnswers({ find: unasked, tags: unasked, inspect }, freshForMs, () => this.now);
  }

  async inspect(reference: string): Promise<string> {
    const image = { project: projectId('shop'), repository, reference };
    return (await this.answers.inspect(image, undefined).catch(() => ({ state: 'failed' }))).state;
  }
}

const missing = { state: 'missing', because: 'its configuration is missing' } as const;

it('what an image says of itself is asked once', async () => {
  const fixture = new Fixture();
  await fixture.inspect('a');
  fixture.now += hour;
  fixture.answers.forget(repository);
  await fixture.inspect('a');
  expect(fixture.inspected).toEqual(['a']);
});

it('an image that was not there whole is asked for again after a while, or a push', async () => {
  const fixture = new Fixture();
  fixture.says = missing;
  expect([await fixture.inspect('a'), await fixture.inspect('a')]).toEqual(['missing', 'missing']);
  expect(fixture.inspected).toHaveLength(1);
  fixture.now += 30_000;
  expect(await fixture.inspect('a')).toBe('missing');
  fixture.says = { state: 'found', created: undefined, labels: {} };
  fixture.answers.forget(repository);
  expect(await fixture.inspect('a')).toBe('found');
  expect(fixture.inspected).toHaveLength(3);
});

it('what nobody asked for the longest is forgotten first', async () => {
  const fixture = new Fixture();
  for (let index = 0; index < 2_000; index += 1) await fixture.inspect(`${index}`);
  await fixture.inspect('0');
  await fixture.inspect('new');
  fixture.inspected.length = 0;
  await fixture.inspect('0');
  await fixture.inspect('1999');
  expect(fixture.inspected).toEqual([]);
  await fixture.inspect('1');
  expect(fixture.inspected).toEqual(['1']);
});

it('a failure counts for half a minute, also where answers count for longer', async () => {
  const fixture = new Fixture(hour);
  fixture.says = new EphError('registry.unreachable', 'no answer');
  await fixture.inspect('a');
  fixture.now += 29_999;
  expect(await fixture.inspect('a')).toBe('failed');
  expect(fixture.inspected).toHaveLength(1);
  fixture.says = missing;
  fixture.now += 1;
  expect(await fixture.inspect('a')).toBe('missing');
});
