import { type CommitSha, printMoment, type ReportedComponent, type ReportView } from '@eph/contract';
import {
  bodyOf,
  type CommentTemplate,
  fill,
  fillPlain,
  type PartName,
  partLimits,
  type TextName,
  type TextValues,
  textOf,
} from './comment-texts.ts';
import { inlineText, link, linkedAddress, preformatted } from './untrusted-text.ts';

export interface CommentOptions {
  /** The `commentMarker` of the environment, by which the comment is found again. */
  readonly marker: string;
  readonly logsUrl?: string;
  readonly dashboardUrl?: string;
  readonly template?: CommentTemplate;
}

/** GitHub allows 65,536 characters, others more. */
export const commentLimit = 60_000;

const paragraphsLimit = 4_000;
const faultsLimit = 10;

const endPhases: readonly ReportView['phase'][] = ['Removing', 'Held', 'Removed'];

const phaseIcons: { readonly [phase in ReportView['phase']]: string } = {
  Pending: '⚪',
  Progressing: '🟡',
  Ready: '🟢',
  Degraded: '🟠',
  Failed: '🔴',
  Removing: '⚪',
  Held: '⏸️',
  Removed: '⚫',
};

interface CommentContext {
  readonly view: ReportView;
  readonly options: CommentOptions;
  readonly values: TextValues;
  /** A text as a line of Markdown; and as plain words for use inside other markup. */
  readonly line: (name: TextName, limit: number) => string;
  readonly words: (name: TextName) => string;
}

/** The comment about an environment. Untrusted text in it is always escaped. */
export const renderMarkdown = (view: ReportView, options: CommentOptions): string => {
  const template = options.template ?? {};
  const values = valuesOf(view);
  const context: CommentContext = {
    view,
    options,
    values,
    line: (name, limit) => fill(textOf(template, name), values, limit),
    words: (name) => fillPlain(textOf(template, name), values, 400),
  };
  let left = paragraphsLimit;
  const paragraph = (text: string): string => {
    const filled = fill(text, values, left - 2);
    left -= filled.length + 2;
    return filled;
  };
  const blocks = bodyOf(textOf(template, 'body')).map((line) =>
    'part' in line ? parts[line.part](context, partLimits[line.part]) : left > 2 ? paragraph(line.text) : '',
  );
  return [options.marker, ...blocks].filter((block) => block !== '').join('\n\n');
};

const parts: { readonly [part in PartName]: (context: CommentContext, limit: number) => string } = {
  headline: ({ view, line }, limit) => {
    const headline = line(`headline_${lower(view.phase)}`, limit - 10);
    return headline === '' ? '' : `### ${phaseIcons[view.phase]} ${headline}`;
  },
  message: ({ view, line }, limit) =>
    line(view.phase === 'Progressing' && isReachable(view) ? 'message_updating' : `message_${lower(view.phase)}`, limit),
  // Waits are listed separately, with their time.
  reason: ({ view }, limit) =>
    view.summary === '' || view.waits.some((wait) => wait.reason === view.summary)
      ? ''
      : `> ${inlineText(view.summary, limit - 2)}`,
  components: (context, limit) => renderComponents(context, limit),
  times: ({ values, line }, limit) => {
    const isUnchanged = values.started?.plain === values.updated?.plain;
    const names: readonly TextName[] = isUnchanged ? ['started', 'expires'] : ['started', 'updated', 'expires'];
    return names
      .map((name) => line(name, limit / 3 - 3))
      .filter((time) => time !== '')
      .join(' · ');
  },
  waits: (context, limit) => {
    const until = (at: string): string => ` (${context.words('until')} ${printMoment(at) ?? inlineText(at, 50)})`;
    const show = (wait: ReportView['waits'][number]): string =>
      `${inlineText(wait.reason, 300)}${wait.until === null ? '' : until(wait.until)}`;
    return renderList(context, 'waits', context.view.waits, show, limit);
  },
  notes: (context, limit) => renderList(context, 'notes', context.view.notes, (note) => inlineText(note, 400), limit),
  faults: (context, limit) => renderFaults(context, limit),
  comeback: ({ view, line }, limit) => (endPhases.includes(view.phase) ? line('comeback', limit) : ''),
  links: ({ options: { logsUrl, dashboardUrl }, words }) =>
    [
      ...(logsUrl === undefined ? [] : [link(words('logs'), logsUrl)]),
      ...(dashboardUrl === undefined ? [] : [link(words('dashboard'), dashboardUrl)]),
    ].join(' · '),
};

const valuesOf = (view: ReportView): TextValues => {
  const plain = (text: string, limit: number) => ({ plain: text, markdown: inlineText(text, limit) });
  const time = (at: string | null) => {
    const shown = at === null ? undefined : printMoment(at);
    return shown === undefined ? undefined : plain(shown, 50);
  };
  const [started, updated, expires] = [time(view.createdAt), time(view.updatedAt), time(view.expiresAt)];
  const name = inlineText(view.name, 400);
  return {
    name: { plain: view.name, markdown: isReachable(view) ? link(name, view.url) : name },
    url: { plain: view.url, markdown: linkedAddress(view.url) },
    phase: plain(view.phase, 50),
    summary: plain(view.summary, 1_000),
    commit: { plain: view.commit, markdown: shownCommit(view.commit) },
    comeback: plain(view.restoreHint, 1_500),
    ...(started === undefined ? {} : { started }),
    ...(updated === undefined ? {} : { updated }),
    ...(expires === undefined ? {} : { expires }),
  };
};

const renderComponents = ({ view, words }: CommentContext, limit: number): string => {
  if (view.components.length === 0) return '';
  const status = ({ health, message }: ReportedComponent): string => {
    const [reason = ''] = message.slice(0, 2_000).trimStart().split('\n', 1);
    return health === 'failing' && reason !== ''
      ? `${words('health_failing')} (${inlineText(reason, 600)})`
      : words(`health_${health}`);
  };
  const commit = ({ commit, serving }: ReportedComponent): string =>
    serving === null || serving === commit || endPhases.includes(view.phase)
      ? shownCommit(commit)
      : `${shownCommit(commit)}, ${shownCommit(serving)} ${words('still_answers')}`;
  const columns: readonly (readonly [TextName, (component: ReportedComponent) => string])[] = [
    ['column_component', ({ name }) => inlineText(name, 100)],
    ['column_status', status],
    ['column_address', ({ entry }) => (entry && hasAddress(view) ? linkedAddress(view.url) : '')],
    ['column_commit', commit],
    ['column_image', ({ images }) => images.map(shownImage).join(', ')],
  ];
  const filled = columns.filter(([, cell]) => view.components.some((component) => cell(component) !== ''));
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const show = (component: ReportedComponent): string => row(filled.map(([, cell]) => cell(component)));
  const head = [row(filled.map(([title]) => words(title))), row(filled.map(() => '---'))];
  return withinLimit(head, view.components, show, `\n\n${words('more')}`, limit);
};

const renderList = <Item>(
  { words }: CommentContext,
  title: TextName,
  items: readonly Item[],
  show: (item: Item) => string,
  limit: number,
): string => {
  const head = [words(title), ''];
  return items.length === 0 ? '' : withinLimit(head, items, (item) => `- ${show(item)}`, `\n- ${words('more')}`, limit);
};

const withinLimit = <Item>(
  head: readonly string[],
  items: readonly Item[],
  show: (item: Item) => string,
  more: string,
  limit: number,
): string => {
  const lines = [...head];
  let left = limit - head.join('\n').length - more.length;
  for (const item of items) {
    const line = show(item);
    left -= line.length + 1;
    if (left < 0) return `${lines.join('\n')}${more}`;
    lines.push(line);
  }
  return lines.join('\n');
};

/** Folded. Markdown is not parsed between `<pre>` and `</pre>`. */
const renderFaults = ({ view, words }: CommentContext, limit: number): string => {
  const faults = view.faults.slice(0, faultsLimit);
  if (faults.length === 0) return '';
  const more = view.faults.length > faultsLimit ? [words('more')] : [];
  const share = Math.floor((limit - 1_000) / faults.length) - '<pre>\n\n</pre>\n\n'.length;
  const blocks = faults.map((fault) => `<pre>\n${preformatted(fault, share)}\n</pre>`);
  return ['<details>', `<summary>${words('faults')}</summary>`, '', [...blocks, ...more].join('\n\n'), '', '</details>'].join(
    '\n',
  );
};

const lower = (phase: ReportView['phase']): Lowercase<ReportView['phase']> =>
  phase.toLowerCase() as Lowercase<ReportView['phase']>;

const isReachable = ({ phase, components }: ReportView): boolean =>
  phase === 'Ready' ||
  phase === 'Degraded' ||
  (phase === 'Progressing' && components.some((component) => component.entry && component.serving !== null));

/** The address is known before anything answers there, and useless once nothing will. */
const hasAddress = (view: ReportView): boolean => isReachable(view) || view.phase === 'Pending' || view.phase === 'Progressing';

const code = (text: string): string => `\`${text.replaceAll(/[^\w.:-]/g, '')}\``;

const shownCommit = (commit: CommitSha): string => code(commit.slice(0, 12));

const shownImage = ({ reference, tag }: ReportedComponent['images'][number]): string => {
  const digest = /@(sha\d{3}:[0-9a-f]{12})[0-9a-f]+$/.exec(reference)?.[1];
  const pinned = digest === undefined ? inlineText(reference, 300) : code(digest);
  return tag === null ? pinned : `${inlineText(tag, 128)} ${pinned}`;
};
