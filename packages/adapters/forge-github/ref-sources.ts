import { commitSha, type ProjectId, type Source, type SourceRef } from '@eph/contract';
import type { SourceAnswer } from '@eph/engine/source/forge';
import { z } from 'zod';
import { isPossibleName } from '../forge-git/refs.ts';
import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import { createDropCheck } from '../forge-http/drop-check.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GithubClient, ListQuery } from './github-client.ts';
import { checkGone } from './repository.ts';
import { branchShape, refShape, tagShape } from './shapes.ts';

export interface RefSources {
  list(kind: RefKind, signal: AbortSignal): Promise<Listing<Source>>;
  read(ref: SourceRef, signal: AbortSignal): Promise<SourceAnswer>;
}

export type RefKind = 'branch' | 'tag';

const folders: Readonly<Record<RefKind, string>> = { branch: 'heads', tag: 'tags' };
const routes: Readonly<Record<RefKind, string>> = {
  branch: 'GET /repos/{owner}/{repo}/branches',
  tag: 'GET /repos/{owner}/{repo}/tags',
};
const maxTagDepth = 5;

export const createRefSources = (project: ProjectId, client: GithubClient): RefSources => {
  const queryOf = (kind: RefKind): ListQuery<Source> => ({
    route: routes[kind],
    parse: (body) =>
      z
        .array(branchShape)
        .parse(body)
        .map(({ name, commit }) => ({ project, ref: { kind, name }, commit: commitSha(commit.sha) })),
    keyOf: ({ ref }) => ref.name,
    what: kind === 'branch' ? 'branches' : 'tags',
  });
  const queries = { branch: queryOf('branch'), tag: queryOf('tag') };
  const checkDrop = { branch: createDropCheck('branches'), tag: createDropCheck('tags') };

  /** An empty repository has its own status. */
  const recount = async (kind: RefKind, signal: AbortSignal): Promise<Answer<number>> => {
    const route = 'GET /repos/{owner}/{repo}/git/matching-refs/{ref}';
    const parameters = { ref: `${folders[kind]}/` };
    const refs = await client.read({ route, parameters, parse: parseRefs }, { signal, fresh: true });
    if (refs.ok) return { ok: true, value: refs.value.length };
    const gone = await checkGone(client, refs, signal);
    return gone.state === 'gone' ? { ok: true, value: 0 } : refs;
  };

  /** The commit of an annotated tag; undefined if it is not a commit. */
  const peel = async (
    target: { readonly type: string; readonly sha: string },
    signal: AbortSignal,
    depth = 0,
  ): Promise<Answer<string | undefined>> => {
    if (target.type !== 'tag') return { ok: true, value: target.type === 'commit' ? target.sha : undefined };
    if (depth === maxTagDepth) return invalidAnswer(`${client.shown} has a tag that is nested too deeply.`);
    const route = 'GET /repos/{owner}/{repo}/git/tags/{tag_sha}';
    const tag = await client.read({ route, parameters: { tag_sha: target.sha }, parse: parseTag }, { signal });
    return tag.ok ? await peel(tag.value.object, signal, depth + 1) : tag;
  };

  return {
    list: async (kind, signal) =>
      await checkDrop[kind](await client.list(queries[kind], { signal }), () => recount(kind, signal)),

    async read(ref, signal) {
      if (ref.kind === 'pr' || !isPossibleName(ref.name)) return { state: 'gone' };
      const name = `${folders[ref.kind]}/${ref.name}`;
      const route = 'GET /repos/{owner}/{repo}/git/ref/{ref}';
      const answer = await client.read({ route, parameters: { ref: name }, parse: parseRef }, { signal, fresh: true });
      if (!answer.ok) return await checkGone(client, answer, signal);
      if (answer.value.ref !== `refs/${name}`) return { state: 'gone' };
      const commit = await peel(answer.value.object, signal);
      if (!commit.ok) return { state: 'unknown', fault: commit.fault };
      if (commit.value === undefined) return { state: 'gone' };
      return { state: 'present', source: { project, ref, commit: commitSha(commit.value) } };
    },
  };
};

const parseRef = (body: unknown): z.output<typeof refShape> => refShape.parse(body);
const parseTag = (body: unknown): z.output<typeof tagShape> => tagShape.parse(body);
const parseRefs = (body: unknown): readonly z.output<typeof refShape>[] => z.array(refShape).parse(body);
