import { readCommit, readTag } from '../git/git-reading.ts';
import { created, empty, found, ok, Problem, page } from '../http/answer.ts';
import { type Route, repositoryRoute } from '../http/route.ts';
import { updateRef } from '../state/ref-mutations.ts';
import { branchRef, type Repository, resolveCommit } from '../state/repository.ts';
import { repositoryHtmlUrl } from '../views/account-view.ts';
import { commitView, refView, tagObjectView } from '../views/git-view.ts';
import { repositoryUrl } from '../views/repository-view.ts';
import { encodePath, nodeId } from '../views/text.ts';

/** A simplified version of Git's rules for ref names. */
// oxlint-disable-next-line no-control-regex -- control characters are exactly what a ref name must not hold
const badRef = /(^|\/)\.|\.\.|@\{|[\u0000-\u0020~^:?*[\\\u007f]|\/$|\/\/|\.lock(\/|$)|\.$/;

export const refRoutes: readonly Route[] = [
  repositoryRoute('repos/list-branches', ['contents:read'], 'read', ({ github, repository }) =>
    page(namesUnder(repository, 'refs/heads/'), ({ name, sha }) => ({
      name,
      commit: { sha, url: `${repositoryUrl(github, repository)}/commits/${sha}` },
      protected: false,
    })),
  ),

  repositoryRoute('repos/get-branch', ['contents:read'], 'read', async ({ github, repository, path }) => {
    const sha = repository.refs.get(branchRef(path.branch));
    if (sha === undefined) throw new Problem(404, 'Branch not found');
    const commit = found(await readCommit(repository.network, sha));
    const self = `${repositoryUrl(github, repository)}/branches/${encodePath(path.branch)}`;
    return ok({
      name: path.branch,
      commit: commitView(github, repository, commit),
      _links: { self, html: `${repositoryHtmlUrl(github, repository)}/tree/${encodePath(path.branch)}` },
      protected: false,
      protection: { enabled: false },
      protection_url: `${self}/protection`,
    });
  }),

  repositoryRoute('repos/list-tags', ['contents:read'], 'read', ({ github, repository }) =>
    page(namesUnder(repository, 'refs/tags/').toReversed(), ({ name }) => {
      const sha = resolveCommit(repository, `refs/tags/${name}`) ?? '';
      const url = repositoryUrl(github, repository);
      return {
        name,
        commit: { sha, url: `${url}/commits/${sha}` },
        zipball_url: `${url}/zipball/refs/tags/${encodePath(name)}`,
        tarball_url: `${url}/tarball/refs/tags/${encodePath(name)}`,
        node_id: nodeId('REF', name),
      };
    }),
  ),

  repositoryRoute('git/list-matching-refs', ['contents:read'], 'read', ({ github, repository, path }) => {
    if (repository.refs.size === 0) throw new Problem(409, 'Git Repository is empty.');
    const matching = [...repository.refs].filter(([ref]) => ref.startsWith(`refs/${path.ref}`)).toSorted(byName);
    return page(matching, ([ref, sha]) => refView(github, repository, ref, sha));
  }),

  repositoryRoute('git/get-ref', ['contents:read'], 'read', ({ github, repository, path }) => {
    const ref = `refs/${path.ref}`;
    return ok(refView(github, repository, ref, found(repository.refs.get(ref))));
  }),

  repositoryRoute('git/create-ref', ['contents:write'], 'write', ({ github, repository, body, actor }) => {
    if (!/^refs\/[^/]+\/./.test(body.ref) || badRef.test(body.ref)) throw new Problem(422, 'Reference name is not valid');
    if (repository.refs.has(body.ref)) throw new Problem(422, 'Reference already exists');
    if (!repository.network.has(body.sha)) throw new Problem(422, 'Object does not exist');
    updateRef(github, repository, body.ref, body.sha, actor);
    const view = refView(github, repository, body.ref, body.sha);
    return created(view, view.url);
  }),

  repositoryRoute('git/update-ref', ['contents:write'], 'write', ({ github, repository, path, body, actor }) => {
    const ref = `refs/${path.ref}`;
    const before = repository.refs.get(ref);
    if (before === undefined) throw new Problem(422, 'Reference does not exist');
    if (!repository.network.has(body.sha)) throw new Problem(422, 'Object does not exist');
    const isForward = repository.network.commits.has(body.sha) && repository.network.isAncestor(before, body.sha);
    if (!isForward && body.force !== true) throw new Problem(422, 'Update is not a fast forward');
    updateRef(github, repository, ref, body.sha, actor);
    return ok(refView(github, repository, ref, body.sha));
  }),

  repositoryRoute('git/delete-ref', ['contents:write'], 'write', ({ github, repository, path, actor }) => {
    const ref = `refs/${path.ref}`;
    if (!repository.refs.has(ref)) throw new Problem(422, 'Reference does not exist');
    updateRef(github, repository, ref, undefined, actor);
    return empty(204);
  }),

  repositoryRoute('git/get-tag', ['contents:read'], 'read', async ({ github, repository, path }) =>
    ok(tagObjectView(github, repository, found(await readTag(repository.network, path.tag_sha)))),
  ),
];

const namesUnder = ({ refs }: Repository, prefix: string): readonly { readonly name: string; readonly sha: string }[] =>
  [...refs]
    .filter(([ref]) => ref.startsWith(prefix))
    .toSorted(byName)
    .map(([ref, sha]) => ({ name: ref.slice(prefix.length), sha }));

const byName = ([a]: readonly [string, string], [b]: readonly [string, string]): number => (a < b ? -1 : 1);
