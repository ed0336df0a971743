import { type Action, type ParsedSpec, type ProjectId, parseSpec, projectId } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { FakeForge, FakeRepository } from '../source/forge.fake.ts';
import { branch, EngineHarness, oneService, shop, twoServices } from './engine-harness.fake.ts';

const bank = projectId('shop-bank');
const never = new AbortController().signal;

/** An environment of `shop`, and one of `shop-bank` that is called `shop-bank-till`. */
const start = async (): Promise<EngineHarness> => {
  const harness = new EngineHarness();
  harness.ownerOf = (label) => harness.engine.environments().find(({ name }) => name === label)?.id;
  harness.start();
  const repository = new FakeRepository(bank, () => harness.clock.now());
  harness.engine.addProjects(harness.configure(new Map([[bank, new FakeForge(bank, repository)]])));
  repository.push(branch('preview/till'), { 'eph.yaml': named('till', twoServices) });
  harness.push('preview/a');
  await harness.live(60);
  expect(harness.record('preview/till')).toMatchObject({ name: 'shop-bank-till', status: { phase: 'Ready' } });
  return harness;
};

const named = (template: string, spec = oneService): string =>
  spec.replace('name: shop', `name: shop\nenvironment: { name_template: "${template}" }`);

const referring = (reference: string): string => oneService.replace('run web', `run web, env: { X: "${reference}" }`);

const planFor = async (harness: EngineHarness, text: string, visible: readonly ProjectId[], name = 'preview/a') => {
  const file: ParsedSpec = parseSpec(new TextEncoder().encode(text), 'eph.yaml');
  const { source } = harness.record('preview/a');
  if (source === undefined) throw new Error('it has no source');
  return harness.engine.planSource({ ...source, ref: branch(name) }, file, (one) => visible.includes(one), never);
};

const reasonsIn = (actions: readonly Action[]): readonly string[] =>
  actions.flatMap((action) => ('reason' in action ? [action.reason] : []));

describe('a plan for a file that nobody has pushed', () => {
  it('may use what environments of visible projects publish', async () => {
    const harness = await start();
    const { actions } = await planFor(harness, referring('shop-bank-till::outputs/api/url'), [shop, bank]);
    expect(actions).toMatchObject([{ type: 'update', component: 'web' }]);
    const wrong = await planFor(harness, referring('shop-bank-till::outputs/apu/url'), [shop, bank]);
    expect(reasonsIn(wrong.actions).join()).toContain('did you mean "api"?');
  });

  it.each(['outputs/api/url', 'outputs/zzz/k', 'outputs/api/zzz'])(
    'answers %s of a hidden environment as if there were none',
    async (output) => {
      const harness = await start();
      const [hidden, absent] = [
        await planFor(harness, referring(`shop-bank-till::${output}`), [shop]),
        await planFor(harness, referring(`shop-bank-none::${output}`), [shop]),
      ];
      expect(reasonsIn(hidden.actions)).toEqual([
        `shop-bank-till::${output}: there is no environment with the name or alias shop-bank-till`,
      ]);
      expect(JSON.stringify(hidden).replaceAll('shop-bank-till', 'shop-bank-none')).toBe(JSON.stringify(absent));
    },
  );

  it.each([
    ['the name of a hidden environment', 'shop-bank-till'],
    ['a name that begins like a hidden project', 'shop-bank-login'],
    ['a name that is free', 'shop-gate-login'],
  ])('gets %s, so that no conflict shows what is hidden', async (_, name) => {
    const harness = await start();
    expect((await planFor(harness, named(name), [shop], 'preview/new')).name).toBe(name);
    const all = await planFor(harness, named(name), [shop, bank], 'preview/new');
    expect(all.name).toMatch(name === 'shop-gate-login' ? /^shop-gate-login$/ : /^shop-[0-9a-f]{8}-bank-/);
  });
});
