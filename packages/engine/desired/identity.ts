import { createHash, createHmac } from 'node:crypto';
import {
  dnsLabel,
  type EnvironmentId,
  type EnvironmentName,
  environmentId,
  environmentName,
  type ProjectId,
  type SourceRef,
  sourceKey,
  toDnsLabel,
} from '@eph/contract';
import { reservedLabels } from './reserved-labels.ts';
import { adjectives, nouns } from './words.ts';

/** Depends on project and source only: the same on every machine, with any key, under any template. */
export const identify = (project: ProjectId, ref: SourceRef): EnvironmentId =>
  environmentId(
    createHash('sha256')
      .update(`${project}\0${sourceKey(ref)}`)
      .digest()
      // Part of the whole digest as text would hold all of it in memory.
      .toString('hex', 0, 8),
  );

export interface NameParts {
  readonly words: string;
  readonly number: string;
  /** Keeps a name out of the reach of other projects. */
  readonly code: string;
}

/** Cannot be guessed without the server key, so that a branch name does not reveal the address. */
export const nameParts = (serverKey: string, project: ProjectId, ref: SourceRef, attempt: number): NameParts => {
  const digest = createHmac('sha256', serverKey)
    .update(`${project}\0${sourceKey(ref)}\0${attempt}`)
    .digest();
  const adjective = adjectives[digest.readUInt16BE(0) % adjectives.length];
  const noun = nouns[digest.readUInt16BE(2) % nouns.length];
  const number = String(1000 + (digest.readUInt32BE(4) % 9000));
  return { words: `${adjective}-${noun}`, number, code: digest.toString('hex', 8, 12) };
};

export interface ProjectIds {
  has(id: string): boolean;
}

/** The longest id behind which a label has room for a digest. */
const maxStart = 48;

/** What every label of a project begins with: its id, as long as something fits behind it. */
const startOf = (project: ProjectId): string => {
  if (project.length <= maxStart) return project;
  const digest = createHash('sha256').update(project).digest('hex').slice(0, 12);
  return `${project.slice(0, maxStart - digest.length - 1)}-${digest}`;
};

/** An id may have two dashes in a row, of which `toDnsLabel` makes one. */
const labelUnder = (start: string, text: string): string => {
  const label = toDnsLabel(`${start}-${text}`);
  if (beginsWith(label, start)) return label;
  const whole = `${start}-${toDnsLabel(text)}`;
  return whole.length <= 63 ? whole : `${start}-${createHash('sha256').update(text).digest('hex').slice(0, 12)}`;
};

const beginsWith = (label: string, start: string): boolean => label === start || label.startsWith(`${start}-`);

/** Whether a label may lead to environments of this project: it belongs to the project with the longest id that it begins with. */
export const belongsTo = (label: string, project: ProjectId, projects: ProjectIds): boolean => {
  const start = startOf(project);
  if (!beginsWith(label, start) || reservedLabels.has(label)) return false;
  for (let end = label.length; end > start.length; end = label.lastIndexOf('-', end - 1))
    if (projects.has(label.slice(0, end))) return false;
  return true;
};

/**
 * The label that says where an environment comes from. Empty where there is none: what looks like the alias of a pull request, of
 * whichever project, belongs to pull requests alone.
 */
export const computeAlias = (project: ProjectId, { kind, name }: SourceRef): string => {
  if (kind === 'pr') return labelUnder(startOf(project), `pr-${name}`);
  const alias = labelUnder(startOf(project), name);
  return looksLikePull(alias) ? '' : alias;
};

const looksLikePull = (label: string): boolean => /-pr-\d+$/.test(label);

export interface NameOptions {
  readonly project: ProjectId;
  readonly ref: SourceRef;
  readonly projects: ProjectIds;
  readonly render: (parts: NameParts) => string;
  readonly parts: (attempt: number) => NameParts;
  /** As the name or alias of another environment. */
  readonly isTaken: (name: EnvironmentName) => boolean;
}

/** Chooses a free name. Called once per environment; later the name is read back from the environment. */
export const chooseName = ({ project, ref, projects, render, parts, isTaken }: NameOptions): EnvironmentName => {
  const start = startOf(project);
  const alias = computeAlias(project, ref);
  for (let attempt = 0; ; attempt += 1) {
    const chosen = parts(attempt);
    // A template without words and number always renders the same name, so they are appended. The numbers alone would
    // run out.
    const more = ['', `-${chosen.number}`][attempt] ?? `-${chosen.words}-${chosen.number}`;
    const text = `${render(chosen)}${more}`;
    const asked = dnsLabel.test(text) ? text : toDnsLabel(text);
    const label = beginsWith(asked, start) ? asked : labelUnder(start, text);
    // More at the end would not change whose label it is.
    const own = belongsTo(label, project, projects) || label === start;
    const name = environmentName(own ? label : labelUnder(start, chosen.code + label.slice(start.length)));
    const isAliasOfPull = looksLikePull(name) && name !== alias;
    if (belongsTo(name, project, projects) && !isAliasOfPull && !isTaken(name)) return name;
  }
};
