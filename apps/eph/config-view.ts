import type { ConfigView } from '@eph/contract';
import type { ConfigComponent, ConfigValue } from './config-paths.ts';
import { shortCommit } from './figures.ts';
import type { Output } from './output.ts';
import { safeLine } from './safe-text.ts';
import { type Cell, renderTable, shrinking } from './table.ts';

/** The configuration of an environment as text. */

type Origin = ConfigValue['origin'];

export interface ExplainStyle {
  /** Also the values of lower layers, their keys, and every value whole. */
  readonly thorough: boolean;
}

export const renderConfig = (out: Output, view: ConfigView, style: ExplainStyle): string[] => {
  const lines = [...renderHeading(out, view), ...renderRemarks(out, view)];
  for (const component of view.components) lines.push('', ...renderComponent(out, view, component, style));
  return view.components.length > 0 ? lines : [...lines, '', 'It has no components.'];
};

const renderHeading = (out: Output, { name, commit, configuration }: ConfigView): string[] => {
  const read = [
    commit === null ? 'its source is gone' : `eph.yaml at ${shortCommit(commit)}`,
    ...(configuration.commit === null ? [] : [`configuration at ${shortCommit(configuration.commit)}`]),
  ];
  return [`${out.paint('strong', safeLine(name))}  ${safeLine(read.join(', '))}`];
};

const renderRemarks = (out: Output, view: ConfigView): string[] => [
  ...renderConfigurationState(out, view.configuration),
  ...renderSentences(out, view),
  ...renderNotices(out, 'eph.yaml', view.notices),
];

const stateSentences = {
  'last-good': 'The newest configuration cannot be used, so the last good one stays in force.',
  missing: 'The configuration repository lacks what every environment needs, so nothing new is started.',
  unreadable: 'The configuration repository cannot be read, so what runs stays as it is.',
} as const;

const renderConfigurationState = (out: Output, { state, fault }: ConfigView['configuration']): string[] => {
  if (state === 'none' || state === 'current') return [];
  const sentence = out.paint('busy', stateSentences[state]);
  return fault === null ? [sentence] : [sentence, `  ${safeLine(fault)}`];
};

export const renderSentences = (
  out: Output,
  { problems, violations, remarks }: Pick<ConfigView, 'problems' | 'violations' | 'remarks'>,
): string[] => [
  ...problems.map((sentence) => `${out.paint('bad', 'problem:')} ${safeLine(sentence)}`),
  ...violations.map((sentence) => `${out.paint('bad', 'limit:')} ${safeLine(sentence)}`),
  ...remarks.map((sentence) => `${out.paint('busy', 'note:')} ${safeLine(sentence)}`),
];

export const renderNotices = (out: Output, file: string, notices: readonly ConfigView['notices'][number][]): string[] =>
  notices.map(({ line, column, path, message }) => {
    const place = `${file}:${line}:${column}`;
    return `${out.paint('busy', 'note:')} ${safeLine([place, path, message].filter(Boolean).join(': '))}`;
  });

const renderComponent = (out: Output, view: ConfigView, component: ConfigComponent, { thorough }: ExplainStyle): string[] => {
  const { name, kind, provider, values } = component;
  const columns = ['KEY', thorough ? 'VALUE' : shrinking('VALUE'), 'FROM'];
  const rows = values.flatMap((value): Cell[][] => {
    const unused = value.used ? '' : ` (not used by ${provider})`;
    const row = [value.path.join('.'), printSetting(value), `${printOrigin(value.origin, view, thorough)}${unused}`];
    return thorough ? [row, ...printBelow(value, view)] : [row];
  });
  return [
    `${out.paint('strong', safeLine(name))}  ${safeLine(`${kind} by ${provider}`)}`,
    ...renderTable(out, columns, rows).map((line) => `  ${line}`),
  ];
};

const printBelow = ({ secret, below }: ConfigValue, view: ConfigView): Cell[][] =>
  below.map(({ value, origin }) => {
    const text = `over ${secret ? mask : printValue(value)} from ${printOrigin(origin, view, true)}`;
    return ['', '', { text, style: 'faint' }];
  });

/** ephd masks secrets; what it calls a secret is not shown even if it did not. */
const mask = '••••••';

const printSetting = ({ value, secret, reference }: ConfigValue): string => {
  const shown = secret ? mask : printValue(value);
  if (reference === null) return shown;
  const isKnown = value !== null && value !== reference;
  return `${reference} → ${isKnown ? shown : 'not known yet'}`;
};

/** Text as it is, unless it would be taken for something else. */
const printValue = (value: ConfigValue['value']): string =>
  typeof value === 'string' && value.trim() === value && !isJson(value) ? value : JSON.stringify(value);

const isJson = (text: string): boolean => {
  try {
    return text === '' || JSON.parse(text) !== undefined;
  } catch {
    // It is plain text then.
    return false;
  }
};

/** The layer of the developer is what everybody expects, and goes without saying. */
const printOrigin = ({ layer, file, line, commit, path }: Origin, view: ConfigView, thorough: boolean): string => {
  if (file === null) return layer === 'default' ? 'built in' : layer;
  const words = [
    ...(layer === 'developer' ? [] : [layer]),
    line === null ? file : `${file}:${line}`,
    ...(commit === null || commit === view.commit ? [] : [`@${shortCommit(commit)}`]),
    ...(thorough && path !== '' ? [`at ${path}`] : []),
  ];
  return words.join(' ');
};
