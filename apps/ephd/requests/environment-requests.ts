import {
  commitSha,
  describeSource,
  EphError,
  type Failure,
  failure,
  type Log,
  type PlanRequest,
  type ProjectId,
  type PullRequest,
  type RequestAnswer,
  type RequestChange,
  type Source,
  type SourceRef,
  sourceKey,
  type Trigger,
} from '@eph/contract';
import { identify } from '@eph/engine/desired/identity';
import type { Forge } from '@eph/engine/source/forge';
import type { Pulls } from '@eph/engine/source/pulls';
import type { RefWriter } from '@eph/engine/source/ref-writer';
import { describeLifetime, findObstacle, type LivingSource } from './lifetime-change.ts';

export interface EnvironmentRequestsOptions {
  readonly projects: ReadonlyMap<ProjectId, ProjectAccess>;
  /** Decides about a source as it is, or as it would be after a change. */
  readonly consider: (source: Source, signal: AbortSignal) => Promise<SourceDecision>;
  /** The same with how long the environment may live. */
  readonly considerLifetime: (source: Source, signal: AbortSignal) => Promise<LivingSource>;
  readonly wake: (project: ProjectId) => void;
  readonly now: () => number;
  readonly log: Log;
}

export interface ProjectAccess {
  readonly forge: Forge;
  /** Absent where ephd does not create branches. */
  readonly refs?: RefWriter | undefined;
}

export interface SourceDecision {
  readonly decision:
    | { readonly state: 'wanted' | 'unwanted'; readonly because: string }
    | { readonly state: 'unknown'; readonly because: string; readonly fault: Failure };
  /** From `eph.yaml` at its commit, or the default ones. */
  readonly triggers: readonly Trigger[];
  /** The commit that was asked for, where the source has moved on since. */
  readonly at?: Source['commit'];
}

export interface RemovalRequest {
  readonly project: ProjectId;
  readonly ref: SourceRef;
}

type AnsweredSource = Pick<Source, 'project' | 'ref'> & { readonly commit: Source['commit'] | null };

export interface LabelChange {
  readonly type: 'lifetime' | 'pause';
  readonly add?: string;
  /** Whether a label that is there goes. */
  readonly removes?: (label: string) => boolean;
  /** What to do about a branch or tag, which has no labels. */
  readonly instead: string;
}

/**
 * Writes requests to Git, as people could do themselves: a label on a pull request, or a branch. It writes only what has the
 * requested effect. Safe to repeat.
 */
export class EnvironmentRequests {
  readonly #options: EnvironmentRequestsOptions;

  constructor(options: EnvironmentRequestsOptions) {
    this.#options = options;
  }

  async bringUp(project: ProjectId, ref: SourceRef, signal: AbortSignal): Promise<RequestAnswer> {
    const answer = await this.#ensureWanted(project, ref, signal);
    // Whoever asks right after a push waits for that commit, even where Git needs no change.
    if (answer.changes.length === 0) this.#options.wake(project);
    return answer;
  }

  async #ensureWanted(project: ProjectId, ref: SourceRef, signal: AbortSignal): Promise<RequestAnswer> {
    if (ref.kind === 'pr' && !/^[1-9]\d{0,9}$/.test(ref.name))
      throw new EphError('api.bad_request', `${JSON.stringify(ref.name)} is not the number of a pull request`);
    const source = await this.#readSource(project, ref, signal);
    if (source === undefined)
      throw new EphError('api.not_found', `${project} has no ${describeSource(ref)}${ref.kind === 'pr' ? ' that is open' : ''}`);
    const current = await this.#options.consider(source, signal);
    if (current.decision.state === 'wanted') return this.#answerWanted(source, current);
    if (ref.kind === 'pr') return await this.#addLabel(source, current, signal);
    const pull = await this.#pullFrom(source, signal);
    if (pull === undefined) return await this.#makeBranch(source, current, signal);
    const decisionOfPull = await this.#options.consider(pull, signal);
    if (decisionOfPull.decision.state === 'wanted') return this.#answerWanted(pull, decisionOfPull);
    return await this.#addLabel(pull, decisionOfPull, signal);
  }

  /** @param force delete a branch even if no other branch or tag has its commit */
  async takeDown({ project, ref }: RemovalRequest, force: boolean, signal: AbortSignal): Promise<RequestAnswer> {
    const source = await this.#readSource(project, ref, signal);
    if (source === undefined) return this.#answer({ project, ref, commit: null }, [], `${describeSource(ref)} is gone`);
    const current = await this.#options.consider(source, signal);
    if (current.decision.state === 'unwanted') return this.#answer(source, [], current.decision.because);
    if (ref.kind === 'pr') return await this.#removeLabels(source, current, signal);
    return await this.#deleteBranch(source, force, signal);
  }

  /** Labels say on which terms a pull request has its environment. One that would have no effect is not written. */
  async changeLabels({ project, ref }: RemovalRequest, change: LabelChange, signal: AbortSignal): Promise<RequestAnswer> {
    const { type, add, removes = () => false, instead } = change;
    if (ref.kind !== 'pr') throw new EphError('api.conflict', `${describeSource(ref)} has no labels: ${instead}`);
    const source = await this.#readSource(project, ref, signal);
    if (source === undefined) throw new EphError('api.not_found', `${describeSource(ref)} is gone`);
    const pulls = this.#pullsOf(project);
    const pull = pullOf(source);
    const isNew = add !== undefined && !pull.labels.includes(add);
    const superfluous = pull.labels.filter((one) => one !== add && removes(one));
    const labels = [...pull.labels.filter((one) => !superfluous.includes(one)), ...(isNew ? [add] : [])].toSorted();
    const after = await this.#options.considerLifetime({ ...source, pull: { ...pull, labels } }, signal);
    if (isNew) {
      const before = await this.#options.considerLifetime(source, signal);
      const obstacle = findObstacle(change, labels, before, after, this.#options.now());
      if (obstacle !== undefined)
        throw new EphError('api.conflict', `the label ${add} would have no effect on ${describeSource(ref)}: ${obstacle}`);
    }
    const changes: RequestChange[] = [];
    // The new one first: without any, the environment might expire in between.
    if (isNew) {
      await pulls.addLabel(ref, add, signal);
      changes.push({ type: 'label_added', label: add });
    }
    for (const label of superfluous) {
      await pulls.removeLabel(ref, label, signal);
      changes.push({ type: 'label_removed', label });
    }
    const answer = this.#answer(source, changes, after.decision.because);
    return type === 'lifetime' ? { ...answer, ...describeLifetime(after) } : answer;
  }

  /** The source of a request as it is, with what the request changes about it. */
  async readPlanned(project: ProjectId, { source: ref, labels, commit }: PlanRequest, signal: AbortSignal): Promise<Source> {
    const source = await this.#readSource(project, ref, signal);
    if (source === undefined) throw new EphError('api.not_found', `${project} has no ${describeSource(ref)}`);
    if (labels !== undefined && source.pull === undefined)
      throw new EphError('api.bad_request', `${describeSource(ref)} has no labels`);
    return {
      ...source,
      ...(commit && { commit: commitSha(commit) }),
      ...(labels && source.pull && { pull: { ...source.pull, labels: labels.toSorted() } }),
    };
  }

  #find(id: ProjectId): ProjectAccess {
    const project = this.#options.projects.get(id);
    if (project === undefined) throw new EphError('api.conflict', `project ${id} is no longer configured`);
    return project;
  }

  /** Undefined only if the forge confirms that it is gone. */
  async #readSource(project: ProjectId, ref: SourceRef, signal: AbortSignal): Promise<Source | undefined> {
    if (ref.kind === 'pr') this.#pullsOf(project);
    const answer = await this.#find(project).forge.source(ref, signal);
    if (answer.state === 'unknown') throw toError(answer.fault);
    return answer.state === 'gone' ? undefined : answer.source;
  }

  #pullsOf(project: ProjectId): Pulls {
    const { pulls } = this.#find(project).forge;
    if (pulls === undefined)
      throw new EphError('api.conflict', `${project} is plain Git, which has no pull requests; name a branch`);
    return pulls;
  }

  /** The open pull request of a branch, if there is one. */
  async #pullFrom({ project, ref }: Source, signal: AbortSignal): Promise<Source | undefined> {
    const { forge } = this.#find(project);
    if (forge.pulls === undefined) return undefined;
    const { items, complete, faults } = await forge.sources(signal);
    const [first, ...others] = items.filter(({ pull }) => pull !== undefined && pull.fork === null && pull.head === ref.name);
    if (others.length > 0) {
      const numbers = [first, ...others].map((one) => one?.ref.name).join(', ');
      throw new EphError('api.conflict', `several pull requests come from ${describeSource(ref)}: name one of ${numbers}`);
    }
    if (first === undefined && !complete) throw toError(faults[0]);
    return first;
  }

  async #addLabel(source: Source, { decision, triggers }: SourceDecision, signal: AbortSignal): Promise<RequestAnswer> {
    const pull = pullOf(source);
    let refusal = decision;
    for (const label of labelsIn(triggers).difference(new Set(pull.labels))) {
      const after = { ...source, pull: { ...pull, labels: [...pull.labels, label].toSorted() } };
      const { decision: expected } = await this.#options.consider(after, signal);
      if (expected.state === 'wanted') {
        await this.#pullsOf(source.project).addLabel(source.ref, label, signal);
        return this.#answer(source, [{ type: 'label_added', label }], expected.because);
      }
      refusal = expected;
    }
    if (refusal.state === 'unknown') throw toError(refusal.fault);
    throw new EphError('api.conflict', `no label would give ${describeSource(source.ref)} an environment: ${refusal.because}`);
  }

  async #removeLabels(source: Source, { decision, triggers }: SourceDecision, signal: AbortSignal): Promise<RequestAnswer> {
    const pull = pullOf(source);
    const labels = labelsIn(triggers).intersection(new Set(pull.labels));
    const after = { ...source, pull: { ...pull, labels: pull.labels.filter((label) => !labels.has(label)) } };
    const { decision: expected } = labels.size === 0 ? { decision } : await this.#options.consider(after, signal);
    if (expected.state === 'wanted')
      throw new EphError(
        'api.conflict',
        `${describeSource(source.ref)} gets an environment even without a label: ${expected.because}. ` +
          'Close it, or write [skip eph] in its title.',
      );
    if (labels.size === 0 && expected.state === 'unknown') throw toError(expected.fault);
    const pulls = this.#pullsOf(source.project);
    for (const label of labels) await pulls.removeLabel(source.ref, label, signal);
    return this.#answer(
      source,
      [...labels].map((label) => ({ type: 'label_removed', label })),
      expected.because,
    );
  }

  async #makeBranch(source: Source, { decision }: SourceDecision, signal: AbortSignal): Promise<RequestAnswer> {
    const { refs } = this.#find(source.project);
    const unwanted = `${describeSource(source.ref)} gets no environment: ${decision.because}`;
    if (refs === undefined) throw new EphError('api.conflict', `${unwanted}. Open a pull request from it.`);
    if (source.ref.name.startsWith(refs.prefix)) throw new EphError('api.conflict', unwanted);
    const branch = `${refs.prefix}${source.ref.name}`;
    const made: Source = { ...source, ref: { kind: 'branch', name: branch } };
    const { decision: expected } = await this.#options.consider(made, signal);
    if (expected.state === 'unknown') throw toError(expected.fault);
    if (expected.state === 'unwanted')
      throw new EphError('api.conflict', `${unwanted}; ${describeSource(made.ref)} would get none either: ${expected.because}`);
    const { commit } = source;
    const isNew = await refs.ensureBranch(branch, commit, signal);
    return this.#answer(made, isNew ? [{ type: 'branch_made', branch, commit }] : [], expected.because);
  }

  async #deleteBranch(source: Source, force: boolean, signal: AbortSignal): Promise<RequestAnswer> {
    const { ref, commit, project } = source;
    const { forge, refs } = this.#find(project);
    if (refs === undefined || ref.kind !== 'branch' || !ref.name.startsWith(refs.prefix))
      throw new EphError(
        'api.conflict',
        `ephd does not delete ${describeSource(ref)}; delete it in Git to remove the environment`,
      );
    if (!force && !(await hasOtherRef(source, forge, signal)))
      throw new EphError(
        'api.conflict',
        `no other branch or tag has ${commit}, so deleting ${describeSource(ref)} may lose work; use force to delete it anyway`,
      );
    const isNew = await refs.removeBranch(ref.name, commit, signal);
    const changes: RequestChange[] = isNew ? [{ type: 'branch_deleted', branch: ref.name, commit }] : [];
    return this.#answer({ ...source, commit: null }, changes, `${describeSource(ref)} is gone`);
  }

  #answerWanted(source: Source, { decision, at = source.commit }: SourceDecision): RequestAnswer {
    return this.#answer({ ...source, commit: at }, [], decision.because);
  }

  #answer({ project, ref, commit }: AnsweredSource, changes: RequestChange[], because: string): RequestAnswer {
    if (changes.length > 0) {
      this.#options.log.info({ project, source: sourceKey(ref), changes }, 'wrote a request to Git');
      this.#options.wake(project);
    }
    const source = { kind: ref.kind, name: ref.name };
    return { project, source, environment: identify(project, ref), commit, changes, because };
  }
}

/** Whether another branch or tag is at this very commit. Refs at later commits are not searched: that would be expensive. */
const hasOtherRef = async ({ ref, commit }: Source, forge: Forge, signal: AbortSignal): Promise<boolean> => {
  const { items } = await forge.sources(signal);
  return items.some((other) => other.commit === commit && sourceKey(other.ref) !== sourceKey(ref));
};

const labelsIn = (triggers: readonly Trigger[]): ReadonlySet<string> =>
  new Set(triggers.flatMap((trigger) => (trigger.type === 'pr_label' ? trigger.labels : [])));

const pullOf = ({ ref, pull }: Source): PullRequest => {
  if (pull === undefined) throw new EphError('internal', `the forge returned no details of ${describeSource(ref)}`);
  return pull;
};

const toError = (fault = failure('forge.incomplete', 'the answer of the forge was incomplete')): EphError =>
  new EphError(fault.code, fault.message, { retryAfterMs: fault.retryAfterMs });
