import {
  type Check,
  type ComponentName,
  type EnvironmentId,
  type Failure,
  isFromFork,
  type ObservedComponent,
  type PinnedImage,
  type Source,
  type Trigger,
  type UsableConfiguration,
} from '@eph/contract';
import type { Terms } from '../desired/decisions.ts';
import { findRequestTime, requestingLabels } from '../desired/request-time.ts';
import { type ImagesFact, type ResolvedImage, summarizeImages } from '../images/images-status.ts';
import type { WantedTimes } from '../images/resolver.ts';
import { findUnused } from '../images/stated-images.ts';
import type { ComponentImages } from '../values/components.ts';
import { type AskedImage, isAllowedRepository } from '../values/environment.ts';
import { projectOf } from './context.ts';
import type { Sought } from './image-memory.ts';
import type { Loop } from './loop.ts';

export interface ImageSearch {
  readonly environment: EnvironmentId;
  readonly source: Source;
  readonly terms: Terms | undefined;
  readonly triggers: readonly Trigger[];
  readonly asked: readonly AskedImage[];
  readonly observed: readonly ObservedComponent[];
  readonly configuration: UsableConfiguration;
  /** Those that the environment waits for. */
  readonly checks: () => Promise<readonly Check[]>;
}

export interface FoundImages {
  readonly byComponent: ReadonlyMap<ComponentName, ComponentImages>;
  readonly fact: ImagesFact | undefined;
  /** Where nobody answered: nothing may change. */
  readonly failures: readonly Failure[];
  readonly remarks: readonly string[];
  readonly lookAgainAt: number | undefined;
  readonly sought: Sought;
}

/** The images that the components of one environment name. What runs already costs no request. */
export const findImages = async (loop: Loop, search: ImageSearch, signal: AbortSignal): Promise<FoundImages> => {
  const { source, terms, observed, configuration, checks, environment } = search;
  const remarks = describeUnused(terms, search.asked, isFromFork(source));
  const isAllowed = (repository: string): boolean => isAllowedRepository(configuration, repository);
  // The others are a fault, and their registries are not asked: that would show them credentials.
  const asked = search.asked.filter(({ image }) => isAllowed(image.repository));
  const before = loop.imageMemory.of(environment);
  // A clock that was set back must not lengthen the wait until it has caught up.
  const isCurrent = before?.commit === source.commit && (before.times?.seenAt ?? 0) <= loop.context.clock.now();
  let wanted = isCurrent ? before.times : undefined;
  const times = once(async () => (wanted ??= await readTimes(loop, search, signal)));
  // One entry is one image for all components, also where its tag moves before the last of them is made.
  const running = [...(before?.pinned ?? []), ...observed.flatMap(imagesOf)];
  const images = await Promise.all(
    distinctImages(asked).map(async ({ component, image, pullSecrets }): Promise<ResolvedImage> => {
      const asked = { source, component, image, ...(pullSecrets && { pullSecrets }) };
      const request = { ...asked, running, times, command: terms?.command, checks, isAllowed };
      return { component, name: image.name, answer: await loop.context.resolver.resolve(request, signal) };
    }),
  );
  signal.throwIfAborted();
  const looks = images.flatMap(({ answer }) => answer.lookAgain ?? []);
  return {
    byComponent: new Map(
      Array.from(
        Map.groupBy(asked, ({ component }) => component),
        ([component, own]) => [
          component,
          toComponentImages(
            own,
            images.filter((one) => one.component === component),
          ),
        ],
      ),
    ),
    fact: summarizeImages(images),
    failures: images.flatMap(({ answer }) => (answer.state === 'unknown' ? [answer.fault] : [])),
    remarks,
    lookAgainAt: looks.length === 0 ? undefined : Math.min(...looks.map(({ at }) => at)),
    sought: {
      commit: source.commit,
      times: looks.length === 0 ? undefined : wanted,
      pinned: images.flatMap(({ answer }) => (answer.state === 'found' ? [answer.image] : [])),
      repositories: [...new Set(looks.flatMap(({ repositories }) => repositories))],
    },
  };
};

/** Containers of one component may run the same image. */
const distinctImages = (asked: readonly AskedImage[]): readonly AskedImage[] => [
  ...new Map(asked.map((one) => [`${one.component} ${one.image.name}`, one])).values(),
];

/** A component waits for all its images. */
const toComponentImages = (asked: readonly AskedImage[], found: readonly ResolvedImage[]): ComponentImages => {
  for (const { answer } of found)
    if (answer.state !== 'found')
      return { state: 'missing', fault: answer.fault, ...('until' in answer && { until: answer.until }) };
  return {
    state: 'found',
    images: Object.fromEntries(found.flatMap(({ name, answer }) => (answer.state === 'found' ? [[name, answer.image]] : []))),
    slots: Object.fromEntries(asked.map(({ slot, image }) => [slot, image.name])),
  };
};

const imagesOf = ({ current, next }: ObservedComponent): readonly PinnedImage[] =>
  [next, current].flatMap((version) => Object.values(version?.images ?? {}));

/** Read once for each commit whose images are looked for. */
const readTimes = async (loop: Loop, { source, terms, triggers }: ImageSearch, signal: AbortSignal): Promise<WantedTimes> => {
  const { forge } = projectOf(loop.context, source.project);
  const committedAt = Date.parse(await forge.committedAt(source.commit, signal));
  const labelledAt = async (ref: Source['ref'], label: string) => await forge.pulls?.labelledAt(ref, label, signal);
  const requestedAt = await findRequestTime(source, requestingLabels(source, triggers), labelledAt);
  const commandedAt = terms?.command && Date.parse(terms.command.at);
  const dates = [committedAt, requestedAt, commandedAt].flatMap((time) =>
    time !== undefined && Number.isFinite(time) ? [time] : [],
  );
  return { requestedAt: Math.max(...dates), committedAt, seenAt: loop.context.clock.now() };
};

const describeUnused = (terms: Terms | undefined, asked: readonly AskedImage[], isFork: boolean): readonly string[] => {
  if (terms?.command === undefined) return [];
  const images = isFork ? [] : asked.map(({ image }) => image);
  const why = isFork ? 'it says nothing about a fork' : 'no component runs an entry of environment.images that it means';
  return findUnused(terms.command, images).map((text) => `--image=${text} was ignored: ${why}`);
};

/** Does the work when first asked, and never again. */
export const once = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let begun: Promise<T> | undefined;
  return () => (begun ??= work());
};
