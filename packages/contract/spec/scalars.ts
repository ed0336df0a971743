import { z } from 'zod';
import { dnsLabel } from '../ids.ts';
import { parseDuration, printDuration } from './duration.ts';
import { parseQuantity } from './quantity.ts';
import { findTemplateFaultAt, type TemplateKey } from './templates.ts';

export const name = z
  .string()
  .regex(dnsLabel, 'must be lower-case letters, digits and dashes, with a letter or digit at both ends, at most 63 characters')
  .describe('A DNS label.');

export const text = (most = 255) => z.string().min(1).max(most);

export const list = <T extends z.ZodType>(entry: T, most = 50) => z.array(entry).min(1).max(most);

export const count = (most: number) =>
  z.int('must be a whole number').min(0, 'must not be negative').max(most, `must be at most ${most}`);

const durationExample = 'must be a duration such as 30s, 5m, 72h or 7d';

/** A duration that stays as it was written. */
export const durationText = (most: string) => {
  const limit = parseDuration(most) ?? Number.POSITIVE_INFINITY;
  return z
    .string(durationExample)
    .max(40)
    .regex(/^(\d+(\.\d+)?(ms|s|m|h|d|w))+$/, durationExample)
    .refine((written) => (parseDuration(written) ?? 1) > 0, 'must be longer than zero')
    .refine((written) => (parseDuration(written) ?? 0) <= limit, `must be at most ${printDuration(limit)}`)
    .meta({ title: 'duration' });
};

export const duration = (most = '365d') => durationText(most).transform((written) => parseDuration(written) ?? 0);

const quantityExample = 'must be an amount such as 100m, 2, 128Mi or 4Gi';

/** An amount as Kubernetes writes it, as text; a number may be written without quotes. */
export const quantity = z
  .union([z.string(), z.number()], quantityExample)
  .transform(String)
  .refine((written) => parseQuantity(written) !== undefined, quantityExample)
  .meta({ title: 'amount' });

/** Text with variables in it, which are known to be allowed at this key. */
export const template = (key: TemplateKey, most = 200) => text(most).check(checkTemplate(key)).meta({ title: 'template' });

const checkTemplate =
  (key: TemplateKey): z.core.CheckFn<string> =>
  ({ value, issues }) => {
    const fault = value.includes('{') || value.includes('}') ? findTemplateFaultAt(key, value) : undefined;
    if (fault !== undefined) issues.push({ code: 'custom', message: fault, input: value });
  };

export const variables = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a variable name; use letters, digits and _, and begin with no digit'),
    z.union([z.string(), z.number(), z.boolean()]).transform(String).check(checkTemplate('environment.env')),
  )
  .describe('Environment variables. A value may be a reference such as `outputs/api/url`, and may hold `${NAME}`.');

export const annotations = z.record(text(317), z.union([z.string(), z.number(), z.boolean()]).transform(String));

const refPatternMessage =
  'must be a ref name; *, ** and ? stand for anything, and sets such as [ab] or {a,b} are written as several patterns';

export const refPattern = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^\s[{~^:\\]*$/, refPatternMessage)
  .meta({ title: 'pattern' })
  .describe('A ref name; `*` matches within a path segment, `**` across them.');

const insideMessage = 'must be a path inside the repository, such as ./deploy/app.yaml';

/** A path or a glob, from the root of the repository on. */
export const repositoryPath = text(500)
  .refine(
    (path) => !path.startsWith('/') && !/^[a-z][a-z0-9+.-]*:/i.test(path) && !path.split(/[/\\]/).includes('..'),
    insideMessage,
  )
  .describe('A path inside the repository.');

export const pathPattern = repositoryPath.describe('A path in the repository; `*` matches within a folder, `**` across them.');

/** An image without its tag. */
export const imageName = /^(?:[^\s@:/]+(?::\d+)?\/)?[^\s@:]+$/;

const cidrExample = 'must be a range of addresses such as 192.0.2.0/24 or 2001:db8::/32';

export const cidr = z.union([z.cidrv4(cidrExample), z.cidrv6(cidrExample)]).describe('A range of addresses.');
