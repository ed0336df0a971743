import {
  digest,
  type Failure,
  failure,
  isEphError,
  isFromFork,
  type PinnedImage,
  printDuration,
  type Source,
  toFailure,
} from '@eph/contract';
import { untilAborted } from '../time/until-aborted.ts';
import { askerOf } from './asker.ts';
import { type Candidate, describeCandidate, isDigest } from './candidate.ts';
import { findObjection, needsDetails } from './constraints.ts';
import type { Registry } from './registry.ts';
import { isRefusal, RegistryAnswers } from './registry-answers.ts';
import type { ImageAnswer, ImageRequest, LookAgain, Resolver, WantedTimes } from './resolver.ts';
import { findInCommand } from './stated-images.ts';
import { findByCheck } from './strategies/check-text.ts';
import { findByComment } from './strategies/comment.ts';
import { findByNote } from './strategies/git-note.ts';
import { findByScan } from './strategies/registry-scan.ts';
import type { Strategy, Surroundings } from './strategies/strategy.ts';
import { findByTemplate } from './strategies/tag-template.ts';

export interface ImageTimes {
  /** How long an image is waited for before the fall-back tag is taken. */
  readonly fallbackAfterMs: number;
  /** How long an image is waited for before that counts as a failure. */
  readonly giveUpAfterMs: number;
  /** How long an answer about a tag counts. */
  readonly freshForMs: number;
}

export interface ImageResolverOptions {
  readonly registry: Registry;
  /** The note on the commit of a source, as of a time or later; undefined if there is none. */
  readonly readNote: (source: Source, notes: string, asOf: number, signal: AbortSignal) => Promise<string | undefined>;
  readonly now: () => number;
  readonly times: ImageTimes;
}

/** What people and builds say; on a fork, strangers could say it. */
const stated: readonly Strategy[] = [findByComment, findByNote, findByCheck];
const derived: readonly Strategy[] = [findByTemplate, findByScan];

/** A refusal mostly needs a person, but some registries refuse to show what has not been pushed yet. */
const refusedForFresh = 10;

/** Looks for images in the order of the strategies, and knows when to look again. */
export class ImageResolver implements Resolver, Disposable {
  readonly #options: ImageResolverOptions;
  readonly #registry: RegistryAnswers;

  constructor(options: ImageResolverOptions) {
    this.#options = options;
    this.#registry = new RegistryAnswers(options.registry, options.times.freshForMs, options.now);
  }

  async resolve(request: ImageRequest, signal: AbortSignal): Promise<ImageAnswer> {
    signal.throwIfAborted();
    // Others may wait for the same answer of a registry, so the request goes on when one of them gives up.
    return await untilAborted(this.#resolve(request, signal), signal);
  }

  async #resolve(request: ImageRequest, signal: AbortSignal): Promise<ImageAnswer> {
    const { image, running } = request;
    const { now, times } = this.#options;
    const asked = identifyRequest(request);
    const given = running.filter((one) => one.request === asked);
    // One provider may have written down as fall-back what another knows as the right one.
    const known = given.find(({ fallback }) => fallback !== true) ?? given[0];
    if (known !== undefined && known.fallback !== true && !image.followsTag)
      return { state: 'found', image: known, findings: [] };
    const search: Search = { request, signal, findings: [], repositories: new Set([image.repository]) };
    const { findings, repositories } = search;
    const lookAgain = (fresh = 1): LookAgain => ({ at: now() + fresh * times.freshForMs, repositories: [...repositories] });
    try {
      const pinned = await this.#search(search);
      if (pinned !== undefined)
        return {
          state: 'found',
          image: { ...pinned, request: asked },
          findings,
          ...(image.followsTag && { lookAgain: lookAgain() }),
        };
      // It runs already: a restart, after which the wait counts anew, must not take it away.
      if (known !== undefined) return { state: 'found', image: known, findings, lookAgain: lookAgain() };
      return { ...(await this.#wait(search, asked)), lookAgain: lookAgain() };
    } catch (error) {
      signal.throwIfAborted();
      // What runs goes on: only the question whether there is something better has no answer.
      if (known !== undefined && isEphError(error)) return { state: 'found', image: known, findings, lookAgain: lookAgain() };
      const fault = toFailure(error);
      const fresh = fault.disposition === 'stall' ? refusedForFresh : 1;
      return { state: 'unknown', fault: about(request, fault), findings, lookAgain: lookAgain(fresh) };
    }
  }

  /** A registry says that something was pushed there. Only a hint. */
  forget(repository: string): void {
    this.#registry.forget(repository);
  }

  [Symbol.dispose](): void {
    this.#registry.close();
  }

  async #search(search: Search): Promise<Pinned | undefined> {
    const { request, signal, findings } = search;
    const { image, source } = request;
    if (image.fixed !== undefined) {
      const found = await this.#try(search, { repository: image.repository, reference: image.fixed, kind: 'named' });
      return found && { ...found, commit: null };
    }
    const { now, times, readNote } = this.#options;
    const surroundings: Surroundings = {
      registry: this.#registry,
      readNote: (one, notes) => readNote(one, notes, now() - times.freshForMs, signal),
      now,
    };
    for (const strategy of isFromFork(source) ? derived : [...stated, ...derived]) {
      const proposal = await strategy(request, surroundings, signal);
      signal.throwIfAborted();
      if (proposal === undefined) continue;
      const [finding, candidates] = 'none' in proposal ? [proposal.none, []] : [proposal.passedOver, proposal.candidates];
      if (finding !== undefined) findings.push(finding);
      const objections: string[] = [];
      for (const candidate of candidates) {
        const found = await this.#try(search, candidate, objections);
        signal.throwIfAborted();
        if (found !== undefined) return { ...found, commit: source.commit };
      }
      findings.push(...shorten(objections));
    }
    return undefined;
  }

  async #try(
    { request, findings, repositories }: Search,
    candidate: Candidate,
    objections = findings,
  ): Promise<Found | undefined> {
    repositories.add(candidate.repository);
    try {
      const found = await this.#check(request, candidate);
      if (typeof found !== 'string') return found;
      objections.push(found);
    } catch (error) {
      // Whoever states an image may name what nobody can read. No other component should stop for that.
      if (candidate.kind !== 'stated' || !isRefusal(error)) throw error;
      objections.push(`${describeCandidate(candidate)} cannot be used: ${error.message.replace(/\.$/, '')}`);
    }
    return undefined;
  }

  /** Why it cannot be used, as a clause, where it cannot. */
  async #check(request: ImageRequest, candidate: Candidate): Promise<Found | string> {
    const { repository, reference } = candidate;
    const found = await this.#registry.find({ ...askerOf(request), repository, reference });
    if (found.state === 'missing') return found.because;
    const objection = await this.#findObjection(request, candidate, found.digest);
    if (objection !== undefined) return `${describeCandidate(candidate)} ${objection}`;
    return { reference: `${repository}@${found.digest}`, tag: isDigest(reference) ? null : reference };
  }

  async #findObjection(request: ImageRequest, candidate: Candidate, imageDigest: string): Promise<string | undefined> {
    if (!needsDetails(request, candidate)) return undefined;
    const location = { ...askerOf(request), repository: candidate.repository, reference: imageDigest };
    const details = await this.#registry.inspect(location, request.image.platform);
    if (details.state === 'missing') return details.because;
    const { committedAt } = candidate.kind === 'doubtful' ? await request.times() : { committedAt: 0 };
    return findObjection(request, candidate, details, { now: this.#options.now(), committedAt });
  }

  /** Nothing was found. */
  async #wait(search: Search, asked: string): Promise<ImageAnswer> {
    const { request, findings, signal } = search;
    const { image, source, component } = request;
    const { now, times } = this.#options;
    const fallback = image.fixed === undefined && image.whenMissing === 'use-fallback' ? image.fallbackTag : undefined;
    const since = beginOfWait(await request.times(), times);
    const waited = now() - since;
    if (fallback !== undefined && waited >= times.fallbackAfterMs) {
      const candidate = { repository: image.repository, reference: fallback, kind: 'fallback' } as const;
      const found = await this.#try(search, candidate);
      signal.throwIfAborted();
      if (found !== undefined)
        return { state: 'found', image: { ...found, commit: source.commit, request: asked, fallback: true }, findings };
    }
    const of = image.fixed === undefined ? ` for commit ${source.commit.slice(0, 7)}` : '';
    const because = findings.length === 0 ? 'nothing in eph.yaml says how it is found' : findings.join('; ');
    if (image.whenMissing !== 'wait' && waited >= times.giveUpAfterMs) {
      const after = printDuration(Math.round(times.giveUpAfterMs / 1000));
      const message = `${component} has no image ${image.name}${of} after ${after}: ${because}. The build may have failed; the image is still looked for`;
      return { state: 'missing', fault: failure('artifact.not_found', message), findings };
    }
    const isFallbackNext = fallback !== undefined && waited < times.fallbackAfterMs;
    const ends = isFallbackNext ? times.fallbackAfterMs : times.giveUpAfterMs;
    const next = isFallbackNext ? `; then ${fallback} is used until it is there` : '';
    const message = `${component} waits for image ${image.name}${of}: ${because}${next}`;
    const fault = failure('artifact.missing', message);
    return image.whenMissing === 'wait'
      ? { state: 'missing', fault, findings }
      : { state: 'missing', fault, findings, until: new Date(since + ends).toISOString() };
  }
}

/**
 * From when on an image is waited for. Where the wait would be over before it began, or begin in the future, it counts from when the
 * commit was first seen: ephd may have been away, and clocks are wrong.
 */
const beginOfWait = ({ requestedAt, seenAt }: WantedTimes, { giveUpAfterMs }: ImageTimes): number =>
  requestedAt <= seenAt && seenAt - requestedAt < giveUpAfterMs ? requestedAt : seenAt;

/** Of a scan, the newest say enough: whoever reads it has one screen. */
const mostObjections = 3;

const shorten = (objections: readonly string[]): readonly string[] =>
  objections.length <= mostObjections
    ? objections
    : [...objections.slice(0, mostObjections), `and ${objections.length - mostObjections} more cannot be used`];

/** One search, and what it has come across so far. */
interface Search {
  readonly request: ImageRequest;
  readonly signal: AbortSignal;
  /** What each way of looking found, one clause each. */
  readonly findings: string[];
  /** Where it has looked. */
  readonly repositories: Set<string>;
}

type Found = Pick<PinnedImage, 'reference' | 'tag'>;
type Pinned = Pick<PinnedImage, 'reference' | 'tag' | 'commit'>;

/** Equal requests have equal answers, once there is one. */
const identifyRequest = ({ image, command, source }: ImageRequest): string => {
  const { fixed, repository, platform, maxAgeSeconds, requiredLabels } = image;
  if (fixed !== undefined) return digest(JSON.stringify([repository, fixed, platform, maxAgeSeconds, requiredLabels]));
  const said = isFromFork(source) ? undefined : findInCommand(command, image)?.text;
  return digest(JSON.stringify([image, said ?? null, source.commit]));
};

const about = ({ component, image }: ImageRequest, { code, message, retryAfterMs }: Failure): Failure =>
  failure(code, `image ${image.name} of ${component}: ${message}`, retryAfterMs);
