import { randomUUID } from 'node:crypto';
import { readChanges } from '../git/git-diff.ts';
import { findPath, type ReadTreeEntry, readCommit, readTree } from '../git/git-reading.ts';
import { type Answer, empty, found, notFound, ok, Problem, page } from '../http/answer.ts';
import { type Route, repositoryRoute } from '../http/route.ts';
import type { GithubState } from '../state/github-state.ts';
import { fullName, type Repository, resolveCommit } from '../state/repository.ts';
import { changeView, commitView, contentView, gitCommitView, treeEntryView } from '../views/git-view.ts';
import { repositoryUrl } from '../views/repository-view.ts';
import { nodeId } from '../views/text.ts';

/** Above this GitHub names a file and leaves its content out. */
const largestInlineBytes = 1024 * 1024;
const largestRawBytes = 100 * 1024 * 1024;
const ticketLifeMs = 5 * 60_000;

export const contentRoutes: readonly Route[] = [
  repositoryRoute('repos/get-commit', ['contents:read'], 'read', async ({ github, repository, path, accept }) => {
    const sha = resolve(repository, path.ref);
    if (accept.includes('.sha')) return { kind: 'bytes', bytes: Buffer.from(sha), contentType: 'application/vnd.github.sha' };
    const commit = found(await readCommit(repository.network, sha));
    const changes = await readChanges(repository.network, commit.parents[0], sha);
    const additions = changes.reduce((sum, change) => sum + change.additions, 0);
    const deletions = changes.reduce((sum, change) => sum + change.deletions, 0);
    return ok(
      {
        ...commitView(github, repository, commit),
        stats: { additions, deletions, total: additions + deletions },
        files: changes.map((change) => changeView(github, repository, sha, change)),
      },
      commit.committer.atMs,
    );
  }),

  repositoryRoute('repos/list-commits', ['contents:read'], 'read', ({ github, repository, query }) => {
    if (repository.refs.size === 0) throw new Problem(409, 'Git Repository is empty.');
    const start = found(resolveCommit(repository, query.sha ?? repository.defaultBranch));
    const commits = [...repository.network.history(start)];
    return page(commits, async ({ sha }) => commitView(github, repository, found(await readCommit(repository.network, sha))));
  }),

  repositoryRoute('repos/compare-commits-with-basehead', ['contents:read'], 'read', async ({ github, repository, path }) => {
    const [base = '', head = ''] = path.basehead.split('...').map((name) => found(resolveCommit(repository, name)));
    const { network } = repository;
    const mergeBase = found(network.mergeBase(base, head));
    const show = async (sha: string) => commitView(github, repository, found(await readCommit(network, sha)));
    const ahead = network.between(base, head).toReversed();
    const behind = network.between(head, base);
    const url = `${repositoryUrl(github, repository)}/compare/${path.basehead}`;
    const changes = await readChanges(network, mergeBase, head);
    return ok({
      url,
      html_url: url,
      permalink_url: url,
      diff_url: `${url}.diff`,
      patch_url: `${url}.patch`,
      base_commit: await show(base),
      merge_base_commit: await show(mergeBase),
      status: comparisonStatus(ahead.length, behind.length),
      ahead_by: ahead.length,
      behind_by: behind.length,
      total_commits: ahead.length,
      commits: await Promise.all(ahead.map(({ sha }) => show(sha))),
      files: changes.map((change) => changeView(github, repository, head, change)),
    });
  }),

  repositoryRoute('repos/get-content', ['contents:read'], 'read', async ({ github, repository, path, query, accept }) => {
    const ref = query.ref ?? repository.defaultBranch;
    const commit = resolveCommit(repository, ref);
    if (commit === undefined) throw new Problem(404, `No commit found for the ref ${ref}`);
    const entry = found(await findPath(repository.network, commit, path.path));
    if (entry.type === 'tree') return listFolder(github, repository, ref, entry);
    return showFile(github, repository, ref, entry, accept.includes('raw'));
  }),

  repositoryRoute('git/get-commit', ['contents:read'], 'read', async ({ github, repository, path }) => {
    const commit = found(await readCommit(repository.network, path.commit_sha));
    return ok(gitCommitView(github, repository, commit), commit.committer.atMs);
  }),

  repositoryRoute('git/get-tree', ['contents:read'], 'read', async ({ github, repository, path, query }) => {
    const named = resolveCommit(repository, path.tree_sha);
    const tree = named === undefined ? path.tree_sha : found(await readCommit(repository.network, named)).tree;
    // Any value at all makes it recursive, as GitHub documents it.
    const entries = found(await readTree(repository.network, tree, query.recursive !== undefined));
    const url = `${repositoryUrl(github, repository)}/git/trees/${tree}`;
    return ok({ sha: tree, url, tree: entries.map((entry) => treeEntryView(github, repository, entry)), truncated: false });
  }),

  repositoryRoute('git/get-blob', ['contents:read'], 'read', async ({ github, repository, path, accept }) => {
    const blob = await repository.network.read(path.file_sha);
    if (blob?.kind !== 'blob') throw notFound();
    if (accept.includes('raw')) return raw(blob.content);
    const url = `${repositoryUrl(github, repository)}/git/blobs/${blob.sha}`;
    const content = wrapBase64(blob.content);
    return ok({ sha: blob.sha, node_id: nodeId('B', blob.sha), size: blob.content.length, url, content, encoding: 'base64' });
  }),

  repositoryRoute('repos/download-tarball-archive', ['contents:read'], 'read', ({ github, repository, path }) => {
    const commit = found(resolveCommit(repository, path.ref === '' ? repository.defaultBranch : path.ref));
    const ticket = randomUUID();
    const prefix = `${fullName(repository).replace('/', '-')}-${commit.slice(0, 7)}`;
    github.archiveTickets.set(ticket, { network: repository.network, commit, prefix, expiresAt: github.now() + ticketLifeMs });
    // Another host: clients do not send their token there, so the URL contains a ticket.
    const location = `${github.urls.archives}/${fullName(repository)}/legacy.tar.gz/${commit}?token=${ticket}`;
    return empty(302, { location });
  }),
];

const resolve = (repository: Repository, ref: string): string => {
  const sha = resolveCommit(repository, ref);
  if (sha === undefined) throw new Problem(422, `No commit found for SHA: ${ref}`);
  return sha;
};

const comparisonStatus = (ahead: number, behind: number): 'identical' | 'ahead' | 'behind' | 'diverged' => {
  if (ahead === 0) return behind === 0 ? 'identical' : 'behind';
  return behind === 0 ? 'ahead' : 'diverged';
};

const listFolder = async (github: GithubState, repository: Repository, ref: string, folder: ReadTreeEntry): Promise<Answer> => {
  const entries = found(await readTree(repository.network, folder.sha, false));
  return ok(
    entries.map((entry) => {
      const path = folder.path === '' ? entry.path : `${folder.path}/${entry.path}`;
      return { type: kindOf(entry), ...contentView(github, repository, ref, { ...entry, path }, entry.size ?? 0) };
    }),
  );
};

const showFile = async (
  github: GithubState,
  repository: Repository,
  ref: string,
  entry: ReadTreeEntry,
  isRaw: boolean,
): Promise<Answer> => {
  const kind = kindOf(entry);
  if (kind === 'submodule') {
    const view = contentView(github, repository, ref, entry, 0);
    return ok({ type: 'submodule', submodule_git_url: 'https://example.com/submodule.git', ...view });
  }
  const { content } = found(await repository.network.read(entry.sha));
  if (content.length > largestRawBytes) throw new Problem(403, 'This API returns blobs up to 100 MB in size.');
  if (isRaw) return raw(content);
  const view = contentView(github, repository, ref, entry, content.length);
  if (kind === 'symlink') return ok({ type: 'symlink', target: content.toString(), ...view });
  const isInline = content.length <= largestInlineBytes;
  const body = isInline ? wrapBase64(content) : '';
  return ok({ type: 'file', encoding: isInline ? 'base64' : 'none', content: body, ...view }, repository.pushedAt);
};

const kindOf = ({ mode, type }: ReadTreeEntry): 'file' | 'dir' | 'symlink' | 'submodule' => {
  if (type === 'tree') return 'dir';
  if (type === 'commit') return 'submodule';
  return mode === '120000' ? 'symlink' : 'file';
};

const raw = (bytes: Buffer): Answer => ({ kind: 'bytes', bytes, contentType: 'application/vnd.github.raw+json; charset=utf-8' });

/** GitHub breaks lines after sixty characters. */
const wrapBase64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll(/.{1,60}/g, '$&\n');
