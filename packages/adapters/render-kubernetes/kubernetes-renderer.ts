import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommitSha, EphError, type JsonMap, type ProjectId } from '@eph/contract';
import type { Renderer, Rendering, RenderRequest } from '@eph/engine/render/renderer';
import type { Clock } from '@eph/engine/time/clock';
import { checkChart, prepareChart, templateOf } from './chart.ts';
import { computeComponents, type KubernetesSettings, type OtherSettings } from './components.ts';
import {
  type Confinement,
  findConfinement,
  findProgram,
  type Program,
  type ProgramLimits,
  programLimits,
  runConfined,
} from './confined-program.ts';
import { markGenerated } from './generated-values.ts';
import { checkKustomization, type Patch, writeOverlay } from './kustomize.ts';
import { clean, type Manifest, ManifestFaults, manifestLimits, printObject, refuse, withoutRepeated } from './manifest.ts';
import { readManifests, type Tree } from './manifest-files.ts';
import { parseManifests, tooMany } from './parse-manifests.ts';
import { RenderingCache } from './rendering-cache.ts';

export interface KubernetesRendererOptions {
  /** A data folder of its own. */
  readonly folder: string;
  /** Where programs are looked for. */
  readonly searchPath: string;
  /** Writes the tree of a commit to a folder that does not exist yet. */
  readonly exportTree: (project: ProjectId, commit: CommitSha, folder: string, signal: AbortSignal) => Promise<void>;
  readonly clock: Pick<Clock, 'after' | 'now'>;
  readonly limits?: ProgramLimits;
}

/** Another number when the same files are understood in another way. */
const version = 1;
const keptOnDiskBytes = 512 * 1024 ** 2;
const keptInMemoryBytes = 64 * 1024 ** 2;
/** A program takes a whole processor. */
const parallel = 2;

export const createKubernetesRenderer = (options: KubernetesRendererOptions): KubernetesRenderer =>
  new KubernetesRenderer(options);

/** An entry of `kubernetes.manifests`: one of `path`, `kustomization` and `chart`. */
interface Source {
  readonly path?: string | undefined;
  readonly kustomization?: string | undefined;
  readonly patches?: readonly Patch[] | undefined;
  readonly chart?: string | undefined;
  readonly value_files?: readonly string[] | undefined;
  readonly values?: JsonMap | undefined;
}

/** Those that a section needs. */
interface Tools {
  readonly kustomize: { readonly program: Program; readonly words: readonly string[] } | undefined;
  readonly helm: Program | undefined;
}

interface Step {
  readonly tree: Tree;
  readonly work: string;
  readonly index: number;
  readonly release: string;
  readonly tools: Tools;
}

export class KubernetesRenderer implements Renderer, AsyncDisposable {
  readonly #options: KubernetesRendererOptions;
  readonly #cache: RenderingCache;
  readonly #running = new Map<string, Promise<Rendering>>();
  readonly #waiting: (() => void)[] = [];
  readonly #closing = new AbortController();
  #active = 0;
  #confinement: Confinement | undefined;
  #prepared: Promise<void> | undefined;
  /** How often files were rendered. */
  renders = 0;

  constructor(options: KubernetesRendererOptions) {
    this.#options = options;
    this.#cache = new RenderingCache({
      folder: join(options.folder, 'rendered'),
      limitBytes: keptOnDiskBytes,
      memoryBytes: keptInMemoryBytes,
    });
  }

  async render(request: RenderRequest, signal: AbortSignal): Promise<Rendering> {
    const settings = request.spec.kubernetes;
    if (settings === undefined) throw new EphError('internal', `there is no section ${request.section} to render`);
    const tools = await this.#findTools(settings.manifests);
    const key = keyOf(request, settings, tools);
    const known = await this.#cache.get(key);
    if (known !== undefined) return known;
    // What others wait for goes on when one of them no longer does.
    const running = this.#running.get(key) ?? this.#renderOnce(key, request, settings, tools);
    this.#running.set(key, running);
    return await untilAborted(running, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new EphError('api.stopping', 'ephd is stopping'));
    await Promise.allSettled(this.#running.values());
  }

  async #renderOnce(key: string, request: RenderRequest, settings: KubernetesSettings, tools: Tools): Promise<Rendering> {
    try {
      await this.#enter();
      try {
        const rendering = await this.#renderTree(request, settings, tools);
        await this.#cache.put(key, rendering);
        return rendering;
      } finally {
        this.#active -= 1;
        this.#waiting.shift()?.();
      }
    } finally {
      this.#running.delete(key);
    }
  }

  async #enter(): Promise<void> {
    while (this.#active >= parallel) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#closing.signal.throwIfAborted();
    this.#active += 1;
  }

  async #renderTree({ project, commit, spec }: RenderRequest, settings: KubernetesSettings, tools: Tools): Promise<Rendering> {
    const { signal } = this.#closing;
    const { folder, exportTree } = this.#options;
    this.renders += 1;
    await this.#prepareFolder();
    const work = await realpath(await mkdtemp(join(folder, 'work-')));
    try {
      const tree = { root: join(work, 'tree') };
      await exportTree(project, commit, tree.root, signal);
      await mkdir(join(work, 'home'));
      const manifests: Manifest[] = [];
      for (const [index, source] of settings.manifests.entries()) {
        manifests.push(...(await this.#readSource({ tree, work, index, release: spec.name, tools }, source)));
        if (manifests.length > manifestLimits.objects) throw tooMany('eph.yaml');
      }
      return describe(withoutRepeated(manifests), settings, spec);
    } catch (error) {
      if (error instanceof ManifestFaults) return { state: 'refused', faults: error.faults };
      throw error;
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }

  /** Once, without what was left when ephd was killed: nobody else works there. */
  #prepareFolder(): Promise<void> {
    const { folder } = this.#options;
    this.#prepared ??= (async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const left = (await readdir(folder)).filter((name) => name.startsWith('work-'));
      await Promise.all(left.map((name) => rm(join(folder, name), { recursive: true, force: true })));
    })();
    return this.#prepared;
  }

  async #readSource(step: Step, source: Source): Promise<readonly Manifest[]> {
    const { tree, work, index, tools } = step;
    const { signal } = this.#closing;
    if (source.path !== undefined) return await readManifests(tree, source.path, signal);
    const { kustomization, patches = [], chart } = source;
    if (chart !== undefined) return await this.#readChart(step, chart, source);
    if (kustomization === undefined || tools.kustomize === undefined) return [];
    await checkKustomization(tree, kustomization);
    const folder = await writeOverlay(work, kustomization, index, patches);
    const { program, words } = tools.kustomize;
    const output = await this.#run(program, [...words, folder], work, kustomization);
    return parseManifests(output, kustomization, () => kustomization);
  }

  /** Twice, to find what is made anew each time: also what the time changes, by the second. */
  async #readChart({ tree, work, index, release, tools }: Step, path: string, source: Source): Promise<readonly Manifest[]> {
    const { helm } = tools;
    if (helm === undefined) return [];
    await checkChart(tree, path);
    const chart = { path, values: source.values, valueFiles: source.value_files ?? [] };
    const args = await prepareChart(tree, work, chart, index, release);
    const render = async () => withoutRepeated(parseManifests(await this.#run(helm, args, work, path), path, templateOf(path)));
    const first = await render();
    await this.#untilNextSecond();
    return markGenerated(first, await render());
  }

  async #run(program: Program, args: readonly string[], work: string, shown: string): Promise<string> {
    this.#confinement ??= findConfinement(this.#options.searchPath);
    const { limits = programLimits } = this.#options;
    const run = { program, args, folder: work, confinement: this.#confinement, limits };
    const result = await runConfined(run, this.#closing.signal);
    if (result.state === 'failed') throw refuse(shown, `cannot be rendered: ${result.message}`);
    return result.output;
  }

  #untilNextSecond(): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => void clock.after(1000 - (clock.now() % 1000), resolve));
  }

  async #findTools(sources: readonly Source[]): Promise<Tools> {
    const { searchPath } = this.#options;
    const find = (name: string): Promise<Program | undefined> => findProgram(name, searchPath);
    const hasCharts = sources.some(({ chart }) => chart !== undefined);
    const hasKustomizations = sources.some(({ kustomization }) => kustomization !== undefined);
    const helm = hasCharts ? await find('helm') : undefined;
    if (hasCharts && helm === undefined) throw missing('helm, which a chart needs, is');
    if (!hasKustomizations) return { helm, kustomize: undefined };
    const [kustomize, kubectl] = [await find('kustomize'), await find('kubectl')];
    if (kustomize !== undefined) return { helm, kustomize: { program: kustomize, words: ['build'] } };
    if (kubectl !== undefined) return { helm, kustomize: { program: kubectl, words: ['kustomize'] } };
    throw missing('neither kustomize nor kubectl, one of which a kustomization needs, is');
  }
}

const missing = (which: string): EphError =>
  new EphError('feature.unavailable', `${which} installed where ephd runs; its operator can install it`);

/** A commit never changes, so it stands for its files. */
const keyOf = ({ project, commit, spec }: RenderRequest, settings: KubernetesSettings, { kustomize, helm }: Tools): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        version,
        project,
        commit,
        spec.name,
        settings,
        spec.secrets?.kubernetes,
        spec.observability?.metrics,
        kustomize?.program.mark,
        helm?.mark,
      ]),
    )
    .digest('hex');

const describe = (manifests: readonly Manifest[], settings: KubernetesSettings, others: OtherSettings): Rendering => {
  if (manifests.length === 0) throw refuse('eph.yaml: kubernetes.manifests', 'hold no object');
  const cleaned = manifests.map((one) => ({ one, ...clean(one.object) }));
  const dropped = cleaned.flatMap(({ one, dropped: keys }) =>
    keys.map((key) => `${one.file}: metadata.${key} of ${printObject(one)} is left out: Eph removes what it made`),
  );
  const { components, notices } = computeComponents(
    cleaned.map(({ one, object }) => ({ ...one, object })),
    settings,
    others,
  );
  return { state: 'rendered', components, notices: [...notices, ...dropped] };
};

const untilAborted = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T> => {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
};
