import { levelOf } from './access.ts';
import { accessLevels, type Label, lineage, type Project, type User } from './entities.ts';
import type { GitlabState } from './state.ts';

/** The labels a merge request of this project may carry: its own and those of the groups above. */
const availableLabels = ({ namespace, labels }: Project): readonly Label[] => {
  const groups = namespace.kind === 'group' ? lineage(namespace) : [];
  return [...labels.values(), ...groups.flatMap((group) => [...group.labels.values()])];
};

/**
 * Labels by their names. A missing label is created if the user may manage labels, and silently ignored otherwise.
 * https://docs.gitlab.com/api/merge_requests/#update-mr, `add_labels`
 */
export const ensureLabels = (state: GitlabState, actor: User, project: Project, titles: readonly string[]): readonly Label[] => {
  const known = new Map(availableLabels(project).map((label) => [label.title, label]));
  const mayCreate = levelOf(actor, project) >= accessLevels.planner;
  return [...new Set(titles)].flatMap((title) => {
    const label = known.get(title);
    if (label !== undefined) return [label];
    return mayCreate && isValidTitle(title) ? [addLabel(state, project, title)] : [];
  });
};

const isValidTitle = (title: string): boolean =>
  title.length <= 255 && !title.includes(',') && !['none', 'any'].includes(title.toLowerCase());

const addLabel = (state: GitlabState, project: Project, title: string): Label => {
  const label = { id: state.nextId(), title, color: '#6699cc', description: null, group: undefined, createdAt: state.now() };
  project.labels.set(title, label);
  state.touch();
  return label;
};
