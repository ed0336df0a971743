import { type Failure, type ParsedSpec, type ProjectId, type Section, type Source, toFailure } from '@eph/contract';
import type { RenderedFile } from '../render/rendered-file.ts';
import { chooseProviders } from '../values/providers.ts';
import { availableProviders, projectOf } from './context.ts';
import type { Loop } from './loop.ts';

type SoundSpec = ParsedSpec & { readonly ok: true };

/** Of what is not known yet: nothing may change. */
type Unknown = { readonly state: 'unknown'; readonly failure: Failure };

/** The file of a source with the components that other files of its commit describe. */
export const renderFile = async (
  loop: Loop,
  parsed: SoundSpec,
  { project, commit }: Source,
  observed: Parameters<typeof chooseProviders>[2],
  signal: AbortSignal,
): Promise<RenderedFile | Unknown> => {
  const { context, files } = loop;
  const section = findRenderedSection(loop, project, parsed, observed);
  if (section === undefined) return { state: 'rendered', parsed, notices: [] };
  try {
    const request = { project, commit, section: section.name, spec: parsed.spec };
    const rendering = await context.renderer.render(request, signal);
    return files.join(parsed, section, rendering);
  } catch (error) {
    signal.throwIfAborted();
    return { state: 'unknown', failure: toFailure(error) };
  }
};

/** Without a provider for it, nothing is rendered. */
const findRenderedSection = (
  { context }: Loop,
  project: ProjectId,
  parsed: SoundSpec,
  observed: Parameters<typeof chooseProviders>[2],
): Section | undefined => {
  const possible = context.sections.filter(({ rendered, name }) => rendered !== undefined && parsed.choices.includes(name));
  if (possible.length === 0) return undefined;
  const { choice } = chooseProviders(parsed, availableProviders(context), observed, projectOf(context, project).variables);
  return possible.find(({ name }) => name === choice);
};
