import { isDeepStrictEqual } from 'node:util';
import {
  type Check,
  type Command,
  type CommitSha,
  commitSha,
  isEphError,
  type Source,
  type SourceRef,
  sourceKey,
} from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Forge } from './forge.ts';
import type { Pulls } from './pulls.ts';

/** Three accounts: the author opens pull requests and may write, the maintainer may write, the outsider may not. */
type Person = 'author' | 'maintainer' | 'outsider';

/** What the file holds afterwards; null if it is to go. */
type FileChanges = Readonly<Record<string, string | null>>;

interface NewPullRequest {
  /** A branch that exists. */
  readonly head: string;
  readonly title: string;
}

/** What people do on a forge. Every act is over when its promise settles; that it shows everywhere may take the forge a moment longer. */
export interface PullsHarness extends AsyncDisposable {
  /** Over a repository that everybody may read, with the default branch `main` that holds `README.md`, and nothing else. */
  readonly forge: Forge & { readonly pulls: Pulls };
  readonly people: Readonly<Record<Person, string>>;
  /**
   * A commit on a branch that changes these files and keeps the others. It follows on `onto`, if that is given, even if the branch is
   * elsewhere; otherwise on the branch, or on `main` if the branch is new.
   */
  commit(branch: string, files: FileChanges, onto?: CommitSha): Promise<CommitSha>;
  /** By the author, to `main`. */
  openPullRequest(pull: NewPullRequest): Promise<SourceRef>;
  edit(ref: SourceRef, changes: { readonly title?: string; readonly draft?: boolean; readonly base?: string }): Promise<void>;
  /** Where labels must be known before they are used, it makes them known. */
  label(ref: SourceRef, label: string): Promise<void>;
  unlabel(ref: SourceRef, label: string): Promise<void>;
  /** If the forge's times have whole seconds, waits for the next second. */
  comment(ref: SourceRef, by: Person, text: string): Promise<void>;
  /** A forge may refuse an outsider; that is no failure of the harness. */
  approve(ref: SourceRef, by: Person): Promise<void>;
  /** A commit status; '' is no description. */
  setCheck(commit: CommitSha, check: Check): Promise<void>;
  close(ref: SourceRef): Promise<void>;
  reopen(ref: SourceRef): Promise<void>;
  /** How many reactions a command carries. */
  countReactions(ref: SourceRef, command: Command): Promise<number>;
  /** The forge does not answer from now on. */
  disconnect(): Promise<void>;
  reconnect(): Promise<void>;
  /** The outsider's fork, if the forge has forks. */
  readonly fork?: {
    /** As `PullRequest.fork` names it. */
    readonly name: string;
    commit(branch: string, files: FileChanges): Promise<CommitSha>;
    /** By the outsider, from a branch of the fork to `main`. */
    openPullRequest(pull: NewPullRequest): Promise<SourceRef>;
  };
}

const nowhere = commitSha('0123456789abcdef0123456789abcdef01234567');
const nobody: SourceRef = { kind: 'pr', name: '999999' };
const patience = { timeout: 60_000, interval: 50 };
const perTest = { timeout: 300_000 };

/** Legal on every forge, and misread by programs that put them into addresses, pages or commands as they are. */
const hostileLabels = [
  'größe 日本語 🚢',
  'a/b?c=d&e#f',
  '100% "quoted"',
  "it's; $(id) `x`",
  'preview:48h',
  '..%2f..%2F',
  '+1',
  '-rf',
];
const hostileBranches = ['über/größe/日本語/🚢', '%2e%2e%2f', "a.b_c@d,e=f+g'$(id)", 'pull/1/head'];
const hostileTitle = '# <img src=x onerror=alert(1)> @everyone [x](javascript:y) ``` [skip eph]s \\ "日本語"';

export const describePulls = (create: () => Promise<PullsHarness>): void => {
  const start = async () => {
    const harness = await create();
    const abort = new AbortController();
    onTestFinished(async () => {
      abort.abort();
      await harness[Symbol.asyncDispose]();
    });
    const { forge } = harness;
    const { signal } = abort;
    const listed = async (ref: SourceRef): Promise<Source | 'absent' | 'unknown'> => {
      const { items, complete } = await forge.sources(signal);
      return items.find((one) => sourceKey(one.ref) === sourceKey(ref)) ?? (complete ? 'absent' : 'unknown');
    };
    const expectSource = async (ref: SourceRef, expected: object): Promise<void> => {
      await expect.poll(() => forge.source(ref, signal), patience).toMatchObject({ state: 'present', source: expected });
      await expect.poll(() => listed(ref), patience).toMatchObject(expected);
    };
    const expectGone = async (ref: SourceRef): Promise<void> => {
      await expect.poll(() => forge.source(ref, signal), patience).toEqual({ state: 'gone' });
      await expect.poll(() => listed(ref), patience).toBe('absent');
    };
    /** A pull request with one change of its own. */
    const open = async (head = 'feature', title = `Change ${head}`): Promise<{ ref: SourceRef; commit: CommitSha }> => {
      const commit = await harness.commit(head, { [`src/${head.length}.txt`]: head });
      return { ref: await harness.openPullRequest({ head, title }), commit };
    };
    return { harness, forge, pulls: forge.pulls, signal, listed, expectSource, expectGone, open };
  };

  describe('an open pull request', perTest, () => {
    it('is a source at the commit of its branch, with what is known of it', async () => {
      const { harness, forge, open, expectSource, listed } = await start();
      const { ref, commit } = await open('feature/login', 'Let people in');
      const pull = {
        title: 'Let people in',
        author: harness.people.author,
        draft: false,
        labels: [],
        head: 'feature/login',
        base: 'main',
        fork: null,
        page: expect.stringMatching(/^https?:\/\/\S+$/),
        touched: expect.stringMatching(/\S/),
      };
      expect(ref).toEqual({ kind: 'pr', name: expect.stringMatching(/^[1-9]\d*$/) });
      await expectSource(ref, { project: forge.project, ref, commit, pull });
      await expectSource({ kind: 'branch', name: 'feature/login' }, { commit });
      expect(await listed({ kind: 'branch', name: 'feature/login' })).not.toHaveProperty('pull');
    });

    it('is the same in the list and alone, as long as nothing happens', async () => {
      const { harness, forge, signal, open } = await start();
      const { ref } = await open();
      await harness.label(ref, 'preview');
      const isSteady = async (): Promise<boolean> => {
        const [first, second] = [await forge.sources(signal), await forge.sources(signal)];
        const own = await forge.source(ref, signal);
        const inList = second.items.find((one) => one.ref.kind === 'pr');
        return (
          isDeepStrictEqual([first.items, first.mark], [second.items, second.mark]) &&
          inList?.pull?.labels.length === 1 &&
          own.state === 'present' &&
          isDeepStrictEqual(own.source, inList)
        );
      };
      await expect.poll(isSteady, patience).toBe(true);
    });

    it('follows its branch, also to where it was forced', async () => {
      const { harness, open, expectSource } = await start();
      const { ref, commit } = await open();
      const next = await harness.commit('feature', { 'b.txt': 'b' });
      await expectSource(ref, { commit: next });
      const forced = await harness.commit('feature', { 'c.txt': 'c' }, commit);
      await expectSource(ref, { commit: forced });
    });

    it('shows its labels, sorted, each once, and changes its mark with them', async () => {
      const { harness, forge, signal, open, expectSource } = await start();
      const { ref } = await open();
      const marks = new Set<string | undefined>();
      const expectLabels = async (...labels: readonly string[]): Promise<void> => {
        await expectSource(ref, { pull: { labels } });
        marks.add((await forge.sources(signal)).mark ?? `none ${marks.size}`);
      };
      await expectLabels();
      await harness.label(ref, 'preview');
      await expectLabels('preview');
      await harness.label(ref, 'demo');
      await expectLabels('demo', 'preview');
      await harness.unlabel(ref, 'preview');
      await expectLabels('demo');
      expect(marks.size).toBe(4);
    });

    it('may become a draft and stop being one, be renamed and go elsewhere', async () => {
      const { harness, open, expectSource } = await start();
      const { ref, commit } = await open();
      await harness.edit(ref, { draft: true });
      await expectSource(ref, { commit, pull: { draft: true } });
      await harness.edit(ref, { draft: false });
      await expectSource(ref, { pull: { draft: false } });
      await harness.edit(ref, { title: 'Another title' });
      await expectSource(ref, { pull: { title: 'Another title' } });
      await harness.commit('release', { 'r.txt': 'r' });
      await harness.edit(ref, { base: 'release' });
      await expectSource(ref, { commit, pull: { base: 'release', head: 'feature' } });
    });

    it('is gone when it is closed, and the same again when it is reopened', async () => {
      const { harness, open, expectSource, expectGone } = await start();
      const [closed, other] = [await open('one'), await open('two')];
      await harness.label(closed.ref, 'preview');
      await expectSource(closed.ref, { commit: closed.commit, pull: { labels: ['preview'] } });
      await harness.close(closed.ref);
      await expectGone(closed.ref);
      await expectSource(other.ref, { commit: other.commit, pull: { labels: [] } });
      await expectSource({ kind: 'branch', name: 'one' }, { commit: closed.commit });
      await harness.reopen(closed.ref);
      await expectSource(closed.ref, { commit: closed.commit, pull: { labels: ['preview'] } });
    });

    it('is found by its number alone', async () => {
      const { forge, signal, open } = await start();
      const { ref } = await open();
      const number = ref.name;
      const others = [
        '',
        '0',
        '-1',
        `0${number}`,
        `${number}.0`,
        ` ${number}`,
        `${number}/../${number}`,
        `${number}?x`,
        `+${number}`,
      ];
      for (const name of [...others, 'abc', '%31', '٣', '1e0', '999999', '9'.repeat(400)])
        expect(await forge.source({ kind: 'pr', name }, signal), name).toEqual({ state: 'gone' });
      expect(await forge.source({ kind: 'branch', name: number }, signal)).toEqual({ state: 'gone' });
    });

    it('keeps names and titles as they are', async () => {
      const { harness, forge, signal, open, expectSource } = await start();
      for (const head of hostileBranches) {
        const { ref, commit } = await open(head);
        await expectSource(ref, { commit, pull: { head, fork: null } });
        expect(await forge.readFile(commit, `src/${head.length}.txt`, 1000, signal)).toEqual(new TextEncoder().encode(head));
        await harness.edit(ref, { title: hostileTitle });
        await expectSource(ref, { pull: { title: hostileTitle } });
      }
    });
  });

  describe('what is known of a pull request', perTest, () => {
    it('is which checks its commit has, the newest of each name, with its text', async () => {
      const { harness, pulls, signal, open } = await start();
      const { commit } = await open();
      const read = async () => {
        const { items, complete } = await pulls.checks(commit, signal);
        return { complete, checks: items.map(({ name, state, text }) => `${name}: ${state} (${text})`).toSorted() };
      };
      await expect.poll(read, patience).toEqual({ complete: true, checks: [] });
      await harness.setCheck(commit, { name: 'build', state: 'pending', text: 'waits for <b>größe</b> & "日本語"' });
      await harness.setCheck(commit, { name: 'lint / größe', state: 'failure', text: '' });
      const lint = 'lint / größe: failure ()';
      const waiting = 'build: pending (waits for <b>größe</b> & "日本語")';
      await expect.poll(read, patience).toEqual({ complete: true, checks: [waiting, lint] });
      await harness.setCheck(commit, { name: 'build', state: 'success', text: 'eph-image: ghcr.io/acme/shop:1' });
      const built = 'build: success (eph-image: ghcr.io/acme/shop:1)';
      await expect.poll(read, patience).toEqual({ complete: true, checks: [built, lint] });
      const other = await harness.commit('feature', { 'b.txt': 'b' });
      expect(await pulls.checks(other, signal)).toMatchObject({ complete: true, items: [] });
    });

    it('is what was commanded, by whom, and at which commit', async () => {
      const { harness, pulls, signal, open, expectSource } = await start();
      const { ref, commit } = await open();
      const { author, maintainer, outsider } = harness.people;
      await expectSource(ref, { commit });
      await harness.comment(ref, 'maintainer', 'What a change!\n/deploy');
      await harness.comment(ref, 'maintainer', '/deploy');
      await harness.comment(ref, 'outsider', '/deploy --image=größe:日本語\r\nplease');
      const next = await harness.commit('feature', { 'b.txt': 'b' });
      await expectSource(ref, { commit: next });
      await harness.comment(ref, 'author', '/preview <b>*now*</b>  \n\n/deploy');
      const read = () => pulls.commands(ref, signal);
      await expect.poll(async () => (await read()).items.length, patience).toBe(3);
      expect(await read()).toMatchObject({
        complete: true,
        items: [
          { text: '/deploy', author: maintainer, mayWrite: true, commit },
          { text: '/deploy --image=größe:日本語', author: outsider, mayWrite: false, commit },
          { text: '/preview <b>*now*</b>', author, mayWrite: true, commit: next },
        ],
      });
      const { items } = await read();
      expect(new Set(items.map(({ id }) => id)).size).toBe(3);
      expect(items.map(({ at }) => Date.parse(at)).filter(Number.isNaN)).toEqual([]);
    });

    it('is who with write access approved exactly a commit', async ({ skip }) => {
      const { harness, pulls, signal, open, expectSource } = await start();
      const { approvals } = pulls;
      if (approvals === undefined) return skip('on this forge an approval names no commit');
      const { ref, commit } = await open();
      await expectSource(ref, { commit });
      expect(await approvals(ref, commit, signal)).toMatchObject({ complete: true, items: [] });
      await harness.approve(ref, 'outsider');
      await harness.approve(ref, 'maintainer');
      const approved = [{ author: harness.people.maintainer, at: expect.stringMatching(/\d/) }];
      await expect.poll(() => approvals(ref, commit, signal), patience).toMatchObject({ complete: true, items: approved });
      const next = await harness.commit('feature', { 'b.txt': 'b' });
      await expectSource(ref, { commit: next });
      expect(await approvals(ref, next, signal)).toMatchObject({ complete: true, items: [] });
      expect((await approvals(ref, nowhere, signal)).items).toEqual([]);
    });

    it('is which paths it changes', async () => {
      const { harness, forge, pulls, signal, expectSource } = await start();
      const main = await harness.commit('main', { 'kept.txt': '1', 'changed.txt': '1', 'deleted.txt': '1' });
      const first = { 'changed.txt': '2', 'deleted.txt': null, 'größe/日本語 🚢.txt': 'new' };
      const commit = await harness.commit('feature', first, main);
      const ref = await harness.openPullRequest({ head: 'feature', title: 'Change files' });
      const read = async () => {
        const answer = await forge.source(ref, signal);
        if (answer.state !== 'present') return answer.state;
        const { items, complete } = await pulls.changedPaths(answer.source, signal);
        return { complete, paths: items.toSorted() };
      };
      await expectSource(ref, { commit });
      const paths = ['changed.txt', 'deleted.txt', 'größe/日本語 🚢.txt'];
      await expect.poll(read, patience).toEqual({ complete: true, paths });
      const next = await harness.commit('feature', { 'a/b/c.txt': 'new', 'changed.txt': '1' });
      await expectSource(ref, { commit: next });
      await expect.poll(read, patience).toEqual({ complete: true, paths: ['a/b/c.txt', ...paths.slice(1)] });
    });

    it('is when a label was put there last', async () => {
      const { harness, pulls, signal, open } = await start();
      const { ref } = await open();
      const read = async () => Date.parse((await pulls.labelledAt(ref, 'preview', signal)) ?? 'never');
      expect(await read()).toBeNaN();
      await harness.label(ref, 'demo');
      await harness.label(ref, 'preview');
      await expect.poll(read, patience).not.toBeNaN();
      const before = await read();
      await harness.unlabel(ref, 'preview');
      await expect.poll(read, patience).toBeNaN();
      await harness.label(ref, 'preview');
      await expect.poll(read, patience).toBeGreaterThanOrEqual(before);
    });

    it('is unknown, never absent, while the forge is silent', async () => {
      const { harness, forge, pulls, signal, open, expectSource } = await start();
      const { ref, commit } = await open();
      await harness.label(ref, 'preview');
      await harness.comment(ref, 'maintainer', '/deploy');
      await expectSource(ref, { commit, pull: { labels: ['preview'] } });
      const [command, source] = [(await pulls.commands(ref, signal)).items[0], await forge.source(ref, signal)];
      if (command === undefined || source.state !== 'present') throw new Error('the forge has not said anything yet');
      await harness.disconnect();
      expect(await forge.source(ref, signal)).toMatchObject({ state: 'unknown' });
      const readings = await Promise.all([
        forge.sources(signal),
        pulls.checks(commit, signal),
        pulls.commands(ref, signal),
        pulls.changedPaths(source.source, signal),
        ...(pulls.approvals === undefined ? [] : [pulls.approvals(ref, commit, signal)]),
      ]);
      expect(readings.map(({ complete, faults }) => !complete && faults.every(({ message }) => message !== ''))).not.toContain(
        false,
      );
      expect(readings.map(({ faults }) => faults.length)).not.toContain(0);
      const silence = { code: 'forge.unreachable' };
      await expect(pulls.labelledAt(ref, 'preview', signal)).rejects.toMatchObject(silence);
      await expect(pulls.defaultBranch(signal)).rejects.toMatchObject(silence);
      await expect(pulls.addLabel(ref, 'demo', signal)).rejects.toMatchObject(silence);
      await expect(pulls.removeLabel(ref, 'preview', signal)).rejects.toMatchObject(silence);
      await expect(pulls.acknowledge(ref, command, signal)).rejects.toMatchObject(silence);
      await harness.reconnect();
      await expectSource(ref, { commit, pull: { labels: ['preview'] } });
      await expect.poll(() => pulls.commands(ref, signal), patience).toMatchObject({ complete: true, items: [command] });
    });

    it('may be asked for by many at the same time', async () => {
      const { harness, pulls, signal, open, expectSource } = await start();
      const [one, two] = [await open('one'), await open('two')];
      for (const { ref, commit } of [one, two]) {
        await harness.comment(ref, 'maintainer', `/deploy ${ref.name}`);
        await expectSource(ref, { commit });
      }
      const asked = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one.ref : two.ref));
      const readings = await Promise.all(asked.map((ref) => pulls.commands(ref, signal)));
      expect(readings.map(({ items }) => items.map(({ text }) => text))).toEqual(asked.map((ref) => [`/deploy ${ref.name}`]));
    });

    it('is nothing, and no accident, where there is no such pull request', async () => {
      const { forge, pulls, signal, open } = await start();
      await open();
      const source = { project: forge.project, ref: nobody, commit: nowhere };
      const readings = [
        await pulls.commands(nobody, signal),
        (await pulls.approvals?.(nobody, nowhere, signal)) ?? { items: [] },
        await pulls.checks(nowhere, signal),
        await pulls.changedPaths(source, signal),
      ];
      expect(readings.map(({ items }) => items)).toEqual([[], [], [], []]);
      const outcome = await pulls.addLabel(nobody, 'preview', signal).catch((error: unknown) => error);
      expect(isEphError(outcome)).toBe(true);
    });
  });

  describe('what can be changed about a pull request', perTest, () => {
    it('is which labels it has, as often as anybody says so', async () => {
      const { harness, pulls, signal, open, expectSource } = await start();
      const { ref } = await open();
      await harness.label(ref, 'kept');
      await pulls.addLabel(ref, 'preview', signal);
      await pulls.addLabel(ref, 'preview', signal);
      await expectSource(ref, { pull: { labels: ['kept', 'preview'] } });
      await pulls.removeLabel(ref, 'preview', signal);
      await pulls.removeLabel(ref, 'preview', signal);
      await pulls.removeLabel(ref, 'never there', signal);
      await expectSource(ref, { pull: { labels: ['kept'] } });
    });

    it('takes labels as they are', async () => {
      const { pulls, signal, open, expectSource } = await start();
      const { ref } = await open();
      for (const label of hostileLabels) await pulls.addLabel(ref, label, signal);
      await expectSource(ref, { pull: { labels: hostileLabels.toSorted() } });
      for (const label of hostileLabels) expect(await pulls.labelledAt(ref, label, signal), label).toMatch(/\d/);
      for (const label of hostileLabels.slice(1)) await pulls.removeLabel(ref, label, signal);
      await expectSource(ref, { pull: { labels: hostileLabels.slice(0, 1) } });
    });

    it('survives a label of 100 kB', async () => {
      const { pulls, signal, open, expectSource } = await start();
      const { ref, commit } = await open();
      const label = 'x'.repeat(100_000);
      for (const change of [() => pulls.addLabel(ref, label, signal), () => pulls.removeLabel(ref, label, signal)]) {
        const outcome = await change().catch((error: unknown) => error);
        expect(outcome === undefined || isEphError(outcome)).toBe(true);
      }
      await expectSource(ref, { commit, pull: { labels: [] } });
    });

    it('is that a command was seen: one reaction, however often it is said', async () => {
      const { harness, pulls, signal, open } = await start();
      const { ref } = await open();
      await harness.comment(ref, 'maintainer', '/deploy');
      await harness.comment(ref, 'maintainer', '/deploy again');
      await expect.poll(async () => (await pulls.commands(ref, signal)).items.length, patience).toBe(2);
      const [seen, unseen] = (await pulls.commands(ref, signal)).items;
      if (seen === undefined || unseen === undefined) throw new Error('a command got lost');
      expect(await harness.countReactions(ref, seen)).toBe(0);
      await pulls.acknowledge(ref, seen, signal);
      await pulls.acknowledge(ref, seen, signal);
      await expect.poll(() => harness.countReactions(ref, seen), patience).toBe(1);
      expect(await harness.countReactions(ref, unseen)).toBe(0);
    });
  });

  describe('a pull request from a fork', perTest, () => {
    it('says where it comes from, follows that alone, and can be read', async ({ skip }) => {
      const { harness, forge, pulls, signal, listed, expectSource } = await start();
      const { fork } = harness;
      if (fork === undefined) return skip('this forge knows no forks');
      const commit = await fork.commit('feature', { 'a.txt': 'from afar' });
      const ref = await fork.openPullRequest({ head: 'feature', title: 'From afar' });
      const pull = { author: harness.people.outsider, head: 'feature', base: 'main', fork: fork.name };
      await expectSource(ref, { commit, pull });
      expect(await listed({ kind: 'branch', name: 'feature' })).toBe('absent');
      expect(await forge.readFile(commit, 'a.txt', 1000, signal)).toEqual(new TextEncoder().encode('from afar'));
      expect(await pulls.defaultBranch(signal)).toBe('main');
      await harness.approve(ref, 'maintainer');
      const approvers = async (at: CommitSha) => (await pulls.approvals?.(ref, at, signal))?.items.length;
      const one = pulls.approvals === undefined ? undefined : 1;
      await expect.poll(() => approvers(commit), patience).toBe(one);
      const next = await fork.commit('feature', { 'a.txt': 'from afar, again' });
      await expectSource(ref, { commit: next, pull });
      expect(await approvers(next)).toBe(one && 0);
      const own = await harness.commit('feature', { 'a.txt': 'from here' });
      await expectSource({ kind: 'branch', name: 'feature' }, { commit: own });
      await expectSource(ref, { commit: next, pull });
    });
  });
};
