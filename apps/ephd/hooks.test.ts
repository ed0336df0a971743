import { type Permission, type ProjectId, projectId } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { administrator } from './api/authenticate.ts';
import { createHookHandlers } from './hooks.ts';

const [shop, bank] = [projectId('shop'), projectId('bank')];

/** Calls the hook as somebody who may wake these projects, and returns the answer or the error. */
const wake = async (named: string | undefined, allowed: readonly ProjectId[], projects: readonly ProjectId[] = [shop, bank]) => {
  const announced: ProjectId[] = [];
  const handlers = createHookHandlers(() => ({ announce: (id) => void announced.push(id) }), new Set(projects));
  const may = (_: Permission, project?: ProjectId): boolean => project !== undefined && allowed.includes(project);
  const answer = new Promise((resolve) => {
    resolve(
      handlers.wake({
        path: {},
        query: { project: named },
        body: undefined,
        environment: undefined,
        caller: { identity: administrator, how: 'file', session: undefined, may },
        lastEventId: undefined,
        addToAudit: () => undefined,
        signIn: () => undefined,
        narrowTo: () => undefined,
        signal: new AbortController().signal,
      }),
    );
  });
  return { answer: await answer.catch((error: unknown) => error), announced };
};

describe('a hook', () => {
  it('wakes the projects that the caller may wake, or the named one', async () => {
    expect(await wake(undefined, [shop, bank])).toEqual({ answer: { woken: [shop, bank] }, announced: [shop, bank] });
    expect(await wake(undefined, [bank])).toEqual({ answer: { woken: [bank] }, announced: [bank] });
    expect(await wake('shop', [shop, bank])).toEqual({ answer: { woken: [shop] }, announced: [shop] });
  });

  it.each([
    ['one that does not exist', 'shops', [shop, bank], 'there is no project "shops"', undefined],
    ['one that is hidden', 'shop', [bank], 'there is no project "shop"', { project: shop }],
  ])('for %s wakes nothing', async (_, named, allowed, message, located) => {
    const { answer, announced } = await wake(named, allowed);
    expect(answer).toMatchObject({ code: 'api.not_found', message });
    expect((answer as { located?: unknown }).located).toEqual(located);
    expect(announced).toEqual([]);
  });

  it('says so where there is no project at all', async () => {
    expect((await wake(undefined, [], [])).answer).toMatchObject({ code: 'api.not_found', message: 'ephd watches no project' });
  });
});
