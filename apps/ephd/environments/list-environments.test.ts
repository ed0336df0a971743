import { commitSha, type EnvironmentPage, environmentName, environmentQuerySchema, projectId } from '@eph/contract';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../api/handlers.ts';
import { createReadyRecord } from '../environment-record.fake.ts';
import { viewEnvironment } from './environment-view.ts';
import { listEnvironments } from './list-environments.ts';

const everybody: Pick<Caller, 'may'> = { may: () => true };
const addresses = { urlOf: (name: string) => `http://${name}.localhost`, aliasOf: () => undefined, away: () => new Map() };

const numbered = (number: number, changes: Partial<EnvironmentRecord> = {}): EnvironmentRecord =>
  createReadyRecord(`preview/${number}`, { name: environmentName(`shop-${String(number).padStart(4, '0')}`), ...changes });

const pull = {
  title: 'Plums are ripe',
  author: 'alice',
  draft: false,
  labels: ['preview'],
  head: 'plums',
  base: 'main',
  fork: null,
  page: '',
  touched: '',
};
const ofPull = (record: EnvironmentRecord): EnvironmentRecord => ({
  ...record,
  source: { project: record.project, ref: record.ref, commit: commitSha('a'.repeat(40)), pull },
});

const all = [
  numbered(1),
  ofPull(numbered(2)),
  numbered(3, { project: projectId('news') }),
  numbered(4, { status: { phase: 'Failed', summary: 'prepare failed', conditions: [] } }),
  numbered(5),
];

const ask = (query: object, caller = everybody, records = all): EnvironmentPage =>
  listEnvironments(records, environmentQuerySchema.parse(query), caller, (known) => viewEnvironment(known, addresses));

const numbersOf = ({ environments }: EnvironmentPage): readonly number[] =>
  environments.map(({ name }) => Number(name?.slice(-4)));

describe('a list of environments', () => {
  it.each<readonly [object, readonly number[]]>([
    [{}, [1, 2, 3, 4, 5]],
    [{ project: 'news' }, [3]],
    [{ phase: ['Failed'] }, [4]],
    [{ phase: ['Failed', 'Ready'], project: 'shop' }, [1, 2, 4, 5]],
    [{ author: 'alice' }, [2]],
    [{ author: 'bob' }, []],
    [{ label: 'preview' }, [2]],
    [{ provider: 'process' }, [1, 2, 3, 4, 5]],
    [{ provider: 'kubernetes' }, []],
    [{ text: 'PLUMS' }, [2]],
    [{ text: 'prepare' }, [4]],
    [{ text: 'preview/5' }, [5]],
  ])('with %j has those that match', (query, numbers) => {
    expect(numbersOf(ask(query))).toEqual(numbers);
  });

  it('comes in pages that follow each other, also when the last of one page is gone', () => {
    const first = ask({ limit: '2' });
    expect([numbersOf(first), first.next]).toEqual([[1, 2], 'shop-0002']);
    const without = all.filter(({ name }) => name !== 'shop-0002');
    const second = ask({ limit: '2', after: first.next }, everybody, without);
    expect([numbersOf(second), second.next]).toEqual([[3, 4], 'shop-0004']);
    expect(ask({ limit: '2', after: second.next })).toMatchObject({ environments: [{ name: 'shop-0005' }], next: null });
    expect(ask({ limit: '5' }).next).toBeNull();
    expect(ask({ after: 'zzz' })).toEqual({ environments: [], next: null });
  });

  it('has nothing of projects that the caller may not see, and its pages are full', () => {
    const caller: Pick<Caller, 'may'> = { ...everybody, may: (_, project) => project === 'shop' };
    const page = ask({ limit: '3' }, caller);
    expect([numbersOf(page), page.next]).toEqual([[1, 2, 4], 'shop-0004']);
  });

  it('has only the fields that are asked for, and the id', () => {
    const [first] = ask({ fields: ['name', 'phase'] }).environments;
    expect(first).toEqual({ id: all[0]?.id, name: 'shop-0001', phase: 'Ready' });
  });
});
