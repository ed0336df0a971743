import type { Check, Command, ComponentName, Failure, PinnedImage, PullSecrets, Source, WantedImage } from '@eph/contract';

/**
 * Finds the image that a component runs.
 *
 * Contract
 * - The answer is immutable: a reference with a digest always means the same bytes, because it is part of the revision.
 * - An image that is not there yet is `missing`, and its component waits. It is never guessed. Where nobody answered it is `unknown`,
 *   and nothing changes.
 * - What an environment runs already for the same request is the answer, and nobody is asked. Limits of age and labels hold when an
 *   image is chosen, never again once it runs.
 * - Safe to repeat at any time and for any number of components together. A tag is asked for once in a while for all of them.
 */
export interface Resolver {
  resolve(request: ImageRequest, signal: AbortSignal): Promise<ImageAnswer>;
}

export interface ImageRequest {
  readonly source: Source;
  readonly component: ComponentName;
  readonly image: WantedImage;
  /** With which its pods fetch it. Never for a fork. */
  readonly pullSecrets?: PullSecrets;
  /** What the environment runs, or was given already. */
  readonly running: readonly PinnedImage[];
  /** Called only when it matters. Throws where nobody answers. */
  readonly times: () => Promise<WantedTimes>;
  /** The comment that asked for the environment. */
  readonly command: Command | undefined;
  /** Those that the environment waits for. Called only when it matters, and throws where nobody answers. */
  readonly checks: () => Promise<readonly Check[]>;
  /** Whether policy lets an image of this repository run. */
  readonly isAllowed: (repository: string) => boolean;
}

/** In milliseconds. */
export interface WantedTimes {
  /** When the environment was requested or its commit made, whichever is later, by the clocks of others. */
  readonly requestedAt: number;
  /** When the commit was first seen here. */
  readonly seenAt: number;
  /** When the commit was made, by the clock of who made it. */
  readonly committedAt: number;
}

export interface LookAgain {
  /** In milliseconds. */
  readonly at: number;
  /** A push to one of these may change the answer sooner. */
  readonly repositories: readonly string[];
}

export type ImageAnswer = {
  /** What each way of looking found, one clause each. Empty where nobody was asked. */
  readonly findings: readonly string[];
  /** Undefined where the answer does not change. */
  readonly lookAgain?: LookAgain;
} & (
  | { readonly state: 'found'; readonly image: PinnedImage }
  /** With what happens next, and until when that is waited for. */
  | { readonly state: 'missing'; readonly fault: Failure; readonly until?: string }
  | { readonly state: 'unknown'; readonly fault: Failure }
);
