import { z } from 'zod';
import { labelValue, labelValueMessage } from '../configuration/labels.ts';
import { type ParsedDocument, type Places, parseDocument } from '../spec/document.ts';
import { isMap, notBoth, oneOf, read } from '../spec/rules.ts';
import { list, text } from '../spec/scalars.ts';
import { type Role, roles } from './permissions.ts';
import { personText } from './person.ts';
import { projectPattern } from './project-pattern.ts';

/** One rule of who may do what. */
export interface AccessRule {
  readonly who: readonly Who[];
  /** Undefined denies, whatever other rules give. */
  readonly role: Role | undefined;
  /** Patterns for names of projects; undefined for all. */
  readonly projects: readonly string[] | undefined;
  /** A project has at least one of them; undefined for all projects. */
  readonly labels: readonly string[] | undefined;
  /** Projects with one of them are left out. */
  readonly except: readonly string[];
}

/** Exactly one of them is set. */
export type Who = z.output<typeof who>;

/** A rule, and the file and line it comes from, such as `ephd.yaml:12`. */
export interface PlacedRule extends AccessRule {
  readonly place: string;
}

export const projectLabel = z.string().regex(labelValue, labelValueMessage);

const who = z
  .strictObject({
    person: personText.optional(),
    group: text().optional(),
    /** The repository whose CI calls. */
    ci: text().optional(),
  })
  .refine((given) => Object.keys(given).length === 1, 'must name one of person, group and ci; write several as a list');

const selectors = ['projects', 'labels', 'except'];

const rule = z
  .strictObject({
    who: z.union([who.transform((one) => [one]), list(who, 500)]),
    role: z.enum(roles).optional(),
    deny: z.literal(true).optional(),
    projects: list(projectPattern, 500).optional(),
    labels: list(projectLabel).optional(),
    except: list(projectLabel).optional(),
  })
  .refine(...oneOf('role', 'deny'))
  .refine(...notBoth('deny', 'role'))
  .superRefine(
    (given, context) => {
      if (read(given, 'role') !== 'admin') return;
      for (const key of selectors.filter((one) => Object.hasOwn(given, one)))
        context.addIssue({ code: 'custom', path: [key], message: 'must be left out: an admin has all projects' });
    },
    { when: isMap },
  );

type GivenRule = z.output<typeof rule>;

const toRule = ({ who, role, projects, labels, except = [] }: GivenRule): AccessRule => ({ who, role, projects, labels, except });

const most = 1_000;

/** `access.rules` in the file of ephd. */
export const accessRules = z.array(rule.transform(toRule)).max(most);

/** Whoever may push to the configuration repository could otherwise make themselves an admin of ephd. */
const ruleOfRepository = rule.refine((given) => read(given, 'role') !== 'admin', {
  path: ['role'],
  message: 'admin is given only by access.rules in the file of ephd',
  when: isMap,
});

const form = {
  schema: z.strictObject({ rules: z.array(ruleOfRepository.transform(toRule)).max(most) }),
  limitBytes: 256 * 1024,
  empty: 'the file is empty; it needs rules, which may be an empty list',
};

/** `access.yaml` of the configuration repository. */
export const parseAccessFile = (bytes: Uint8Array, file: string): ParsedDocument<{ readonly rules: readonly AccessRule[] }> =>
  parseDocument(bytes, file, form);

export const accessFileLimitBytes = form.limitBytes;

/** Rules with their places, which are below `at` in a file that is shown as `file`. */
export const placeRules = (
  rules: readonly AccessRule[],
  { file, places, at }: { readonly file: string; readonly places: Places; readonly at: readonly string[] },
): readonly PlacedRule[] => rules.map((rule, index) => ({ ...rule, place: `${file}:${places.at([...at, index])?.line ?? 1}` }));
