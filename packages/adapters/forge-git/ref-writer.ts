import { type CommitSha, EphError } from '@eph/contract';
import type { RefWriter } from '@eph/engine/source/ref-writer';
import type { Git } from './git-command.ts';
import { gitError, gitMessage, printable } from './git-errors.ts';
import type { PathLocation } from './location.ts';
import type { Mirror } from './mirror.ts';
import { isPushConflict, rejectionReason } from './push-output.ts';
import { fullName, isPossibleName } from './refs.ts';
import type { BranchChange, Repository } from './repository.ts';
import { readLayout } from './repository-layout.ts';

const attempts = 5;

export const createRefWriter = (prefix: string, repository: Pick<Repository, 'readRef' | 'changeBranch'>): RefWriter => {
  const ensure = async (name: string, change: BranchChange, signal: AbortSignal): Promise<boolean> => {
    checkName(name, prefix);
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const at = (await repository.readRef({ kind: 'branch', name }, signal))?.commit;
      if (at === change.to) return false;
      if (at !== change.from)
        throw new EphError(
          'api.conflict',
          `The branch ${printable(name)} is at ${at ?? 'no commit'}, not at the expected commit.`,
        );
      if (await repository.changeBranch(name, change, signal)) return true;
    }
    throw new EphError(
      'api.conflict',
      `The branch ${printable(name)} cannot be changed: it keeps changing, or its name conflicts with another branch.`,
    );
  };
  return {
    prefix,
    ensureBranch: (name, commit, signal) => ensure(name, { from: undefined, to: commit }, signal),
    removeBranch: (name, commit, signal) => ensure(name, { from: commit, to: undefined }, signal),
  };
};

const checkName = (name: string, prefix: string): void => {
  if (name.startsWith(prefix) && name.length > prefix.length && isBranchName(name)) return;
  throw new EphError('api.bad_request', `"${printable(name)}" is not a valid branch name with the prefix ${prefix}.`);
};

/** As `git check-ref-format`. The length limit is that of file names, where most repositories store refs. */
const isBranchName = (name: string): boolean =>
  isPossibleName(name) &&
  !/\.\.|@\{|\/\/|(?:^|\/)\.|\.lock(?:\/|$)|[/.]$/.test(name) &&
  name.split('/').every((part) => Buffer.byteLength(part) <= 250) &&
  Buffer.byteLength(name) <= 1_000;

export const createLocalChange =
  (git: Git, { path, shown }: PathLocation): Repository['changeBranch'] =>
  async (name, { from, to }, signal) => {
    const { gitFolder } = await readLayout(path);
    const ref = fullName({ kind: 'branch', name });
    const refused = (why: string): EphError =>
      new EphError('forge.refused', `The branch ${printable(name)} of ${shown} cannot be changed: ${why}`);
    if (to === undefined) {
      const listing = [`--git-dir=${gitFolder}`, 'for-each-ref', '--format=%(HEAD)%(worktreepath)', ref];
      const worktrees = await git.run(listing, { signal });
      if (worktrees.exitCode !== 0) throw gitError(worktrees, shown);
      // Git would delete it, and the next commit in that worktree would have no parent.
      if (worktrees.stdout.toString('utf8').trim() !== '') throw refused('it is checked out there.');
    }
    const none = '0'.repeat((to ?? from).length);
    const input = `update ${ref}\0${to ?? none}\0${from ?? none}\0`;
    const args = [`--git-dir=${gitFolder}`, 'update-ref', '--stdin', '-z'];
    const output = await git.run(args, { signal, input, changesRefsOf: gitFolder });
    if (output.exitCode === 0) return true;
    if (/but expected|already exists|unable to resolve reference|\.lock': File exists/.test(output.stderr)) return false;
    if (/nonexistent object|non-commit object/.test(output.stderr))
      throw new EphError('source.commit_missing', `${shown} has no commit ${to ?? from}.`);
    throw refused(gitMessage(output));
  };

type EnsureCommit = (commit: CommitSha, signal: AbortSignal) => Promise<void>;

/** In a remote repository. A push needs the commit in the mirror, even if the remote has it. */
export const createRemoteChange =
  (mirror: Mirror, shown: string, ensureCommit: EnsureCommit): Repository['changeBranch'] =>
  async (name, { from, to }, signal) => {
    if (to !== undefined) await ensureCommit(to, signal);
    const ref = fullName({ kind: 'branch', name });
    const lease = `--force-with-lease=${ref}:${from ?? ''}`;
    const output = await mirror.transfer(['push', '--porcelain', '--no-verify', lease], [`${to ?? ''}:${ref}`], signal);
    if (output.exitCode === 0) return true;
    if (isPushConflict(output)) return false;
    const declined = rejectionReason(output);
    if (declined === undefined) throw gitError(output, shown);
    throw new EphError('forge.refused', `${shown} rejects the change of branch ${printable(name)}: ${printable(declined)}.`);
  };
