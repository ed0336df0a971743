import { type CommitSha, commitSha, EphError, projectId, type SourceRef, shippedSections, specLimitBytes } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { FakeForge, FakeRepository } from './forge.fake.ts';
import { SpecReader, type SpecReading } from './read-spec.ts';

const shop = projectId('shop');
const branch = (name: string): SourceRef => ({ kind: 'branch', name });
const { signal } = new AbortController();

const valid = 'version: "1.0"\nname: shop\nprocess: { services: { web: { command: run } } }\n';

/** A repository and a reader, with a count of how often the repository was asked. */
class Desk {
  readonly repository = new FakeRepository(shop);
  asked = 0;
  trouble: Error | undefined;
  readonly reader = new SpecReader(
    new FakeForge(shop, this.repository, {
      disturb: () => {
        this.asked += 1;
        return this.trouble === undefined ? Promise.resolve() : Promise.reject(this.trouble);
      },
    }),
    shippedSections,
  );

  push(files: { readonly [path: string]: string }, name = 'main'): CommitSha {
    return this.repository.push(branch(name), files);
  }

  read(commit: CommitSha): Promise<SpecReading> {
    return this.reader.read(commit, signal);
  }
}

describe('eph.yaml at a commit', () => {
  it('is read and understood', async () => {
    const desk = new Desk();
    expect(await desk.read(desk.push({ 'eph.yaml': valid }))).toMatchObject({
      state: 'read',
      parsed: { ok: true, spec: { name: 'shop' } },
    });
  });

  it('is read with its faults', async () => {
    const desk = new Desk();
    const reading = await desk.read(desk.push({ 'eph.yaml': 'nmae: shop' }));
    expect(reading).toMatchObject({ state: 'read', parsed: { ok: false } });
  });

  it('may be missing', async () => {
    const desk = new Desk();
    expect(await desk.read(desk.push({ 'README.md': 'hello', 'deploy/eph.yaml': valid }))).toEqual({ state: 'missing' });
  });

  it('has a fault when the forge refuses to hand it over', async () => {
    const desk = new Desk();
    const reading = await desk.read(desk.push({ 'eph.yaml': `# ${'x'.repeat(specLimitBytes)}` }));
    expect(reading).toMatchObject({
      state: 'read',
      parsed: {
        ok: false,
        faults: [{ file: 'eph.yaml', line: 1, column: 1, path: '', message: expect.stringContaining('at most 262144 are read') }],
      },
    });
  });

  it.each([
    ['the forge does not answer', new EphError('forge.unreachable', 'no answer'), 'forge.unreachable'],
    ['something unforeseen happens', new Error('out of memory'), 'internal'],
  ])('is unreadable, not missing, when %s', async (_, trouble, code) => {
    const desk = new Desk();
    const commit = desk.push({ 'eph.yaml': valid });
    desk.trouble = trouble;
    expect(await desk.read(commit)).toMatchObject({ state: 'unreadable', fault: { code } });
  });

  it('is unreadable when the commit is not there yet', async () => {
    const desk = new Desk();
    expect(await desk.read(commitSha('e'.repeat(40)))).toMatchObject({
      state: 'unreadable',
      fault: { code: 'source.commit_missing', disposition: 'retry' },
    });
  });
});

describe('what was read', () => {
  it('is not asked for again: a commit never changes', async () => {
    const desk = new Desk();
    const commits = [desk.push({ 'eph.yaml': valid }), desk.push({}), desk.push({ 'eph.yaml': ':' })];
    for (const commit of commits) expect(desk.reader.peek(commit)).toBeUndefined();
    const first = await Promise.all(commits.map((commit) => desk.read(commit)));
    const again = await Promise.all(commits.map((commit) => desk.read(commit)));
    expect(again).toEqual(first);
    expect(commits.map((commit) => desk.reader.peek(commit))).toEqual(first);
    expect(desk.asked).toBe(3);
  });

  it('is asked for again when it could not be read', async () => {
    const desk = new Desk();
    const commit = desk.push({ 'eph.yaml': valid });
    desk.trouble = new EphError('forge.unreachable', 'no answer');
    await desk.read(commit);
    expect(desk.reader.peek(commit)).toBeUndefined();
    desk.trouble = undefined;
    expect(await desk.read(commit)).toMatchObject({ state: 'read' });
  });

  it('is kept once for all commits with the same content', async () => {
    const desk = new Desk();
    const [first, second, other] = [
      desk.push({ 'eph.yaml': valid }),
      desk.push({ 'eph.yaml': valid, x: '1' }),
      desk.push({ 'eph.yaml': `${valid}\n` }),
    ];
    const readings = [await desk.read(first), await desk.read(second), await desk.read(other)];
    expect(readings[1]).toBe(readings[0]);
    expect(readings[2]).not.toBe(readings[0]);
  });

  it('is forgotten with the last source that points at it', async () => {
    const desk = new Desk();
    const [old, kept] = [desk.push({ 'eph.yaml': valid }), desk.push({ 'eph.yaml': `${valid}\n` })];
    const reading = await desk.read(kept);
    await desk.read(old);
    desk.reader.retain([{ project: shop, ref: branch('main'), commit: kept }]);
    expect(desk.reader.peek(old)).toBeUndefined();
    expect(desk.reader.peek(kept)).toBe(reading);
    await desk.read(old);
    expect(desk.asked).toBe(3);
  });
});
