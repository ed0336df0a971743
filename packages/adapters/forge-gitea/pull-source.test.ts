import { commitSha, type PullRequest, projectId } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { parseNumber } from '../forge-http/numbered-pulls.ts';
import { toSource } from './pull-source.ts';
import { type PullShape, parsePull } from './shapes.ts';

const [one, two] = [commitSha('1'.repeat(40)), commitSha('2'.repeat(40))];

const repository = (id: number, name: string) => ({ repo_id: id, repo: { full_name: name } });
const answer = {
  number: 7,
  state: 'open',
  title: 'Let people in',
  draft: false,
  user: { login: 'alice' },
  labels: [{ id: 1, name: 'preview' }],
  head: { label: 'feature', ref: 'feature', sha: one, ...repository(1, 'acme/shop') },
  base: { label: 'main', ref: 'main', sha: two, ...repository(1, 'acme/shop') },
  html_url: 'https://git.example.com/acme/shop/pulls/7',
  updated_at: '2026-01-05T09:00:00Z',
  comments: 2,
  review_comments: 1,
};

const shape = (changes: object = {}, date = 'Mon, 05 Jan 2026 10:00:00 GMT'): PullShape =>
  parsePull({ ...answer, ...changes }, new Headers({ date }));
const pullOf = (...args: Parameters<typeof shape>): PullRequest | undefined => toSource(projectId('shop'), shape(...args))?.pull;

describe('a pull request as a source', () => {
  it('has what people see of it', () => {
    expect(toSource(projectId('shop'), shape())).toEqual({
      project: 'shop',
      ref: { kind: 'pr', name: '7' },
      commit: one,
      pull: {
        title: 'Let people in',
        author: 'alice',
        draft: false,
        labels: ['preview'],
        head: 'feature',
        base: 'main',
        fork: null,
        page: 'https://git.example.com/acme/shop/pulls/7',
        touched: '2026-01-05T09:00:00Z 2 1',
      },
    });
  });

  it('has each label once, sorted: an organisation may have one of the same name', () => {
    const labels = ['z', 'a', 'z'].map((name, id) => ({ id, name }));
    expect([pullOf({ labels })?.labels, pullOf({ labels: null })?.labels]).toEqual([['a', 'z'], []]);
  });

  it.each([
    ['of a fork', { ...answer.head, ...repository(2, 'mallory/shop') }, 'mallory/shop'],
    ['of a fork that was deleted', { ...answer.head, repo_id: -1, repo: null }, 'a deleted repository'],
    ['of nobody, pushed for review', { ...answer.head, label: '', ref: 'refs/pull/7/head' }, 'alice, without a repository'],
  ])('is foreign from a branch %s, whatever the tips of ours are', (_, head, fork) => {
    const source = toSource(projectId('shop'), shape({ head }), new Map([['feature', two]]));
    expect(source).toMatchObject({ commit: one, pull: { fork } });
  });

  it('is where its branch is', () => {
    expect(toSource(projectId('shop'), shape(), new Map([['feature', two]]))?.commit).toBe(two);
  });

  it('is none while its commit is not known', () => {
    expect(toSource(projectId('shop'), shape({ head: { ...answer.head, sha: '' } }))).toBeUndefined();
  });

  it('counts as touched again once that second has settled', () => {
    const [early, late, later] = [':01', ':06', ':59'].map(
      (second) => pullOf({}, `Mon, 05 Jan 2026 09:00${second} GMT`)?.touched,
    );
    expect(early).not.toBe(late);
    expect(late).toBe(later);
  });
});

describe('the number of a pull request', () => {
  it('is written as Gitea writes it', () => {
    expect(parseNumber({ kind: 'pr', name: '12' })).toBe(12);
    for (const name of ['', '0', '-1', '012', '1.0', ' 1', '1e3', '٣', '1/..', '9'.repeat(20)])
      expect(parseNumber({ kind: 'pr', name }), name).toBeUndefined();
    expect(parseNumber({ kind: 'branch', name: '12' })).toBeUndefined();
  });
});
