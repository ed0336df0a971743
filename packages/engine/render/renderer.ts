import type { CommitSha, Failure, JsonMap, ProjectId, RenderedObjects, Spec } from '@eph/contract';

/**
 * Finds the components that files of a commit describe: manifests, kustomizations, charts.
 *
 * Contract
 * - The answer depends on the commit and the section alone, never on an environment: all environments of a commit share it.
 * - What was rendered once is not rendered again, after a restart neither. While the answer is kept it is the same object each time.
 * - What differs in every rendering is found and marked in `generated`; nothing else of the answer changes when it is made anew.
 * - Files are the work of strangers. Nothing in them is executed, nothing is fetched, and nothing outside the tree is read. Time, memory
 *   and output have limits.
 * - What a person must mend is `refused`, with file and line. Where it is not known what the files say, it throws: `source.commit_missing`
 *   and `forge.unreachable` as `Forge`, `feature.unavailable` where a program is missing here, `spec.unreadable` where a program took too
 *   long.
 */
export interface Renderer {
  render(request: RenderRequest, signal: AbortSignal): Promise<Rendering>;
}

export interface RenderRequest {
  readonly project: ProjectId;
  readonly commit: CommitSha;
  /** The section whose components are asked for. */
  readonly section: string;
  readonly spec: Spec;
}

export type Rendering =
  | { readonly state: 'refused'; readonly faults: readonly Failure[] }
  | {
      readonly state: 'rendered';
      /** Names are DNS labels and differ. */
      readonly components: readonly RenderedComponent[];
      /** What was left out, and why. */
      readonly notices: readonly string[];
    };

export interface RenderedComponent extends RenderedObjects {
  readonly name: string;
  /** One of the kinds that the section names. */
  readonly kind: string;
  /** The layer of the developer. */
  readonly values: JsonMap;
  /** Components that must be ready first. */
  readonly needs: readonly string[];
  /** Lines and columns in the file of its first object, by dotted paths of values. Absent where the section gives the values. */
  readonly places?: { readonly [path: string]: readonly [line: number, column: number] };
}
