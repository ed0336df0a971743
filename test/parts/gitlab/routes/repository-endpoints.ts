import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { BareRepository, RefEntry } from '../../emulation/bare-repository.ts';
import type { CommitObject } from '../../emulation/commit-object.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { paginate } from '../http/pagination.ts';
import { parameters } from '../shapes/parameters.ts';
import { shapes } from '../shapes/shapes.ts';
import { findProject, requireCode, requireRole } from '../state/access.ts';
import type { Project } from '../state/entities.ts';
import { pipelineStatus } from '../state/pipelines.ts';
import { createBranch, createTag, deleteBranch, deleteTag } from '../state/refs.ts';
import { notFound } from '../state/refusal.ts';
import { projectUrl } from '../views/represent.ts';
import { representPipelineBasic } from '../views/represent-delivery.ts';
import { representBranch, representCommit, representDiff, representTag } from '../views/represent-repository.ts';

const codeOf = async (call: Call<unknown>): Promise<{ readonly project: Project; readonly repository: BareRepository }> => {
  const project = findProject(call.state, call.user, call.path('id'), call);
  requireCode(call.user, project);
  return { project, repository: await call.state.repositoryOf(project) };
};

const commitsOf = async (
  repository: BareRepository,
  refs: readonly RefEntry[],
): Promise<readonly { readonly ref: RefEntry; readonly commit: CommitObject }[]> => {
  const commits = new Map((await repository.readCommits(refs.map(({ commit }) => commit))).map((commit) => [commit.sha, commit]));
  return refs.flatMap((ref) => {
    const commit = commits.get(ref.commit);
    return commit === undefined ? [] : [{ ref, commit }];
  });
};

/** `^abc` begins with it, `abc$` ends with it. */
const matches = (name: string, search: string): boolean => {
  if (search.startsWith('^')) return name.startsWith(search.slice(1));
  return search.endsWith('$') ? name.endsWith(search.slice(0, -1)) : name.includes(search);
};

const commitAt = async (repository: BareRepository, revision: string): Promise<CommitObject> => {
  const sha = await repository.resolve(revision);
  const [commit] = sha === undefined ? [] : await repository.readCommits([sha]);
  if (commit === undefined) throw notFound('Commit');
  return commit;
};

const readBlob = async (call: Call<{ readonly ref?: string | undefined }>) => {
  const { project, repository } = await codeOf(call);
  const ref = call.parameters.ref ?? project.defaultBranch;
  const path = call.path('file_path');
  const commit = await repository.resolve(ref);
  const entry = commit === undefined ? undefined : await repository.readEntry(commit, path);
  if (commit === undefined || entry?.type !== 'blob') throw notFound('File');
  const content = await repository.readBlob(entry.sha);
  const about = {
    file_name: path.split('/').at(-1) ?? path,
    file_path: path,
    size: content.length,
    encoding: 'base64' as const,
    content_sha256: createHash('sha256').update(content).digest('hex'),
    ref,
    blob_id: entry.sha,
    commit_id: commit,
    last_commit_id: commit,
    execute_filemode: entry.mode === '100755',
  };
  const headers = Object.entries(about).map(([name, value]) => [
    `x-gitlab-${name.replaceAll('_', '-')}`,
    encodeURI(String(value)),
  ]);
  return { about, content, headers: Object.fromEntries(headers) as Record<string, string> };
};

export const repositoryEndpoints = [
  endpoint('GET /projects/:id/repository/branches', parameters.branches, shapes.branches, async (call) => {
    const { project, repository } = await codeOf(call);
    const { search = '' } = call.parameters;
    const refs = (await repository.refs('refs/heads/')).filter(({ name }) => matches(name.slice('refs/heads/'.length), search));
    return paginate(call, await commitsOf(repository, refs), ({ ref, commit }) =>
      // Whether it was merged requires reading the history per branch, which the emulator omits in lists.
      representBranch(call.state, call.user, project, { name: ref.name.slice('refs/heads/'.length), commit, merged: false }),
    );
  }),
  endpoint('GET /projects/:id/repository/branches/:branch', parameters.none, shapes.branch, async (call) => {
    const { project, repository } = await codeOf(call);
    const sha = await repository.resolve(`refs/heads/${call.path('branch')}`);
    if (sha === undefined) throw notFound('Branch');
    const commit = await commitAt(repository, sha);
    const root = await repository.resolve(`refs/heads/${project.defaultBranch}`);
    const merged = root !== undefined && root !== sha && (await repository.isAncestor(sha, root));
    return { body: representBranch(call.state, call.user, project, { name: call.path('branch'), commit, merged }) };
  }),
  endpoint('POST /projects/:id/repository/branches', parameters.newBranch, shapes.branch, async (call) => {
    const { project, repository } = await codeOf(call);
    const user = requireRole(call.user, project, 'developer');
    const { branch, ref } = call.parameters;
    await createBranch(call.state, user, project, branch, ref);
    const commit = await commitAt(repository, `refs/heads/${branch}`);
    return { status: 201, body: representBranch(call.state, user, project, { name: branch, commit, merged: false }) };
  }),
  endpoint('DELETE /projects/:id/repository/branches/:branch', parameters.none, undefined, async (call) => {
    const { project } = await codeOf(call);
    await deleteBranch(call.state, requireRole(call.user, project, 'developer'), project, call.path('branch'));
    return { status: 204 };
  }),

  endpoint('GET /projects/:id/repository/tags', parameters.tags, shapes.tags, async (call) => {
    const { project, repository } = await codeOf(call);
    const { order_by: order = 'updated', sort = 'desc', search = '' } = call.parameters;
    const refs = (await repository.refs('refs/tags/')).filter(({ name }) => matches(name.slice('refs/tags/'.length), search));
    const known = await commitsOf(repository, refs);
    const byName = (a: { ref: RefEntry }, b: { ref: RefEntry }): number =>
      a.ref.name.localeCompare(b.ref.name, 'en', { numeric: order === 'version' });
    const ascending = known.toSorted((a, b) =>
      order === 'updated' ? a.commit.committer.seconds - b.commit.committer.seconds || byName(a, b) : byName(a, b),
    );
    return paginate(call, sort === 'asc' ? ascending : ascending.toReversed(), ({ ref, commit }) =>
      representTag(call.state, project, ref, commit),
    );
  }),
  endpoint('GET /projects/:id/repository/tags/:tag_name', parameters.none, shapes.tag, async (call) => {
    const { project, repository } = await codeOf(call);
    const name = `refs/tags/${call.path('tag_name')}`;
    const ref = (await repository.refs('refs/tags/')).find((tag) => tag.name === name);
    if (ref === undefined) throw notFound('Tag');
    return { body: representTag(call.state, project, ref, await commitAt(repository, ref.commit)) };
  }),
  endpoint('POST /projects/:id/repository/tags', parameters.newTag, shapes.tag, async (call) => {
    const { project, repository } = await codeOf(call);
    const { tag_name: name, ref: from, message } = call.parameters;
    await createTag(call.state, requireRole(call.user, project, 'developer'), project, name, from, message);
    const ref = (await repository.refs('refs/tags/')).find((tag) => tag.name === `refs/tags/${name}`);
    if (ref === undefined) throw notFound('Tag');
    return { status: 201, body: representTag(call.state, project, ref, await commitAt(repository, ref.commit)) };
  }),
  endpoint('DELETE /projects/:id/repository/tags/:tag_name', parameters.none, undefined, async (call) => {
    const { project } = await codeOf(call);
    await deleteTag(call.state, requireRole(call.user, project, 'developer'), project, call.path('tag_name'));
    return { status: 204 };
  }),

  endpoint('GET /projects/:id/repository/commits/:sha', parameters.commit, shapes.commitDetail, async (call) => {
    const { project, repository } = await codeOf(call);
    const commit = await commitAt(repository, call.path('sha'));
    const pipeline = project.pipelines.findLast(({ sha }) => sha === commit.sha);
    const { additions, deletions } = await repository.countLines(commit.sha);
    return {
      body: {
        ...representCommit(call.state, project, commit),
        ...(call.parameters.stats === false ? {} : { stats: { additions, deletions, total: additions + deletions } }),
        status: pipeline === undefined ? null : pipelineStatus(project, pipeline),
        project_id: project.id,
        last_pipeline: pipeline === undefined ? null : representPipelineBasic(call.state, project, pipeline),
      },
    };
  }),
  endpoint('GET /projects/:id/repository/compare', parameters.comparison, shapes.comparison, async (call) => {
    const { project, repository } = await codeOf(call);
    const { from, to, straight = false } = call.parameters;
    const [old, head] = [await repository.resolve(from), await repository.resolve(to)];
    if (old === undefined || head === undefined) throw notFound('Ref');
    const base = straight ? old : ((await repository.mergeBase(old, head)) ?? old);
    const commits = await repository.readCommits((await repository.commitsBetween(base, head)).toReversed());
    const shown = commits.map((commit) => representCommit(call.state, project, commit));
    return {
      body: {
        commit: shown.at(-1) ?? null,
        commits: shown,
        diffs: (await repository.changedFiles(base, head)).map(representDiff),
        compare_timeout: false,
        compare_same_ref: old === head,
        web_url: `${projectUrl(call.state, project)}/-/compare/${old}...${head}`,
      },
    };
  }),

  endpoint('GET /projects/:id/repository/tree', parameters.tree, shapes.tree, async (call) => {
    const { project, repository } = await codeOf(call);
    const { path = '', ref = project.defaultBranch, recursive = false } = call.parameters;
    const commit = await repository.resolve(ref);
    if (commit === undefined) throw notFound('Tree');
    const entries = await repository.readTree(commit, path, recursive);
    if (entries === undefined) throw notFound('invalid revision or path');
    return paginate(call, entries, (entry) => ({
      id: entry.sha,
      name: entry.path.split('/').at(-1) ?? '',
      type: entry.type,
      path: entry.path,
      mode: entry.mode,
    }));
  }),
  endpoint('GET /projects/:id/repository/files/:file_path', parameters.file, shapes.file, async (call) => {
    const { about, content, headers } = await readBlob(call);
    return { headers, body: { ...about, content: content.toString('base64') } };
  }),
  endpoint('GET /projects/:id/repository/files/:file_path/raw', parameters.rawFile, undefined, async (call) => {
    const { content, headers, about } = await readBlob(call);
    const type = content.includes(0) ? 'application/octet-stream' : 'text/plain';
    const disposition = `inline; filename="${encodeURI(about.file_name)}"`;
    return { headers: { ...headers, 'content-type': type, 'content-disposition': disposition }, body: content };
  }),
  endpoint('GET /projects/:id/repository/archive.tar.gz', parameters.archive, undefined, async (call) => {
    const { project, repository } = await codeOf(call);
    const { sha = project.defaultBranch, path } = call.parameters;
    const commit = await repository.resolve(sha);
    if (commit === undefined) throw notFound('File');
    if (path !== undefined && (await repository.readEntry(commit, path)) === undefined) throw notFound('File');
    // https://docs.gitlab.com/user/project/repository/#repository-contents-in-the-archive: project, ref, commit
    const name = [project.path, sha.replaceAll('/', '-'), ...(sha === commit ? [] : [commit])].join('-');
    const headers = {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${name}.tar.gz"`,
    };
    return { headers, body: gzipSync(await repository.archive(commit, `${name}/`, path)) };
  }),
];
