import { commitSha, dnsLabel, projectId, type TemplateValues, type TemplateVariable, templateVariables } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { missingVariables, type NameTarget, renderTemplate, sourceValues } from './templates.ts';

const values: TemplateValues = {
  project: 'shop',
  words: 'serene-ocean',
  number: '4207',
  ref_type: 'branch',
  ref_name: 'feature/Login.v2',
  commit_sha: '0123456789abcdef0123456789abcdef01234567',
  base_domain: 'preview.example.com',
  registry: 'registry.example.com:5000/team',
};

describe('a template', () => {
  it.each<[string, NameTarget, string]>([
    ['{project}-{words}-{number}', 'dns-label', 'shop-serene-ocean-4207'],
    ['{project}-{ref_name}', 'dns-label', 'shop-feature-login-v2'],
    ['{project}-{ref_name}', 'kubernetes-name', 'shop-feature-login-v2'],
    ['{ref_name}.{base_domain}', 'dns-name', 'feature-login-v2.preview.example.com'],
    ['{ref_type}-{ref_name}-{commit_sha:0:7}', 'image-tag', 'branch-feature-Login.v2-0123456'],
    ['{ref_name}-*', 'tag-pattern', 'feature-Login.v2-*'],
    ['{registry}/{project}/api', 'image-name', 'registry.example.com:5000/team/shop/api'],
    ['App_{ref_name}', 'database-name', 'app_feature_login_v2'],
    ['/preview/{ref_name}', 'path', '/preview/feature-Login.v2'],
    ['plain', 'dns-label', 'plain'],
  ])('%j for a %s becomes %j', (template, target, text) => {
    expect(renderTemplate(template, values, target)).toBe(text);
  });

  it.each<[string, NameTarget, string]>([
    ['x.evil.com', 'dns-name', 'x-evil-com.preview.example.com'],
    ['../../root', 'path', '..-..-root'],
    ['..', 'path', ''],
    ['a*', 'tag-pattern', 'a-'],
    ['evil.com:1/x', 'image-name', 'evil-com-1-x'],
    ['$& {words} $1', 'image-tag', 'words-1'],
  ])('gets no new parts from the value %j in a %s', (ref_name, target, part) => {
    const around = { 'dns-name': '{ref_name}.{base_domain}', path: 'a/{ref_name}/b', 'image-name': 'a/{ref_name}/b' };
    const template = target in around ? around[target as keyof typeof around] : '{ref_name}';
    const expected = target === 'dns-name' || !(target in around) ? part : part === '' ? 'a/b' : `a/${part}/b`;
    expect(renderTemplate(template, { ...values, ref_name }, target)).toBe(expected);
  });

  it('that needs what this source does not have is refused, naming what it has', () => {
    expect(() =>
      renderTemplate('{project}-pr-{pr_number}', { project: 'shop', ref_type: 'branch', ref_name: 'login' }, 'dns-label'),
    ).toThrow(
      expect.objectContaining({
        code: 'spec.invalid',
        message:
          'template "{project}-pr-{pr_number}": {pr_number} is something that branch "login" does not have; allowed: {project}, {ref_type}, {ref_name}',
      }),
    );
  });

  it.each(['branch', '', 'Project', ' project', 'toString', '__proto__', 'constructor'])('with {%s} is refused', (name) => {
    expect(() => renderTemplate(`x-{${name}}`, values, 'dns-label')).toThrow(
      expect.objectContaining({
        code: 'spec.invalid',
        message: expect.stringContaining(`{${name}} is unknown; allowed: {project}, {words}`),
      }),
    );
  });

  it.each(['{', '}', '{{project}}', '{project', '{commit_sha:7}', '${project}'])('%j is refused', (template) => {
    expect(() => renderTemplate(template, values, 'dns-label')).toThrow(expect.objectContaining({ code: 'spec.invalid' }));
  });

  it('cuts characters, not halves of them', () => {
    expect(renderTemplate('{ref_name:1:1}', { ref_name: '🚢a🚢' }, 'image-tag')).toBe('a');
  });
});

const names = Object.keys(templateVariables) as TemplateVariable[];
const anyValues = fc.record(
  Object.fromEntries(names.map((name) => [name, fc.string({ unit: 'binary', maxLength: 300 })])),
) as fc.Arbitrary<TemplateValues>;
const anyTemplate = fc
  .array(
    fc.oneof(
      fc.constantFrom(...names).map((name) => `{${name}}`),
      fc.constantFrom(...names).map((name) => `{${name}:1:7}`),
      fc.string({ unit: 'binary', maxLength: 100 }).map((text) => text.replaceAll(/[{}]/g, '')),
      fc.constantFrom('-', '.', '/', '*', ':'),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

const forms: { readonly [target in NameTarget]: readonly [RegExp, number] } = {
  'dns-label': [dnsLabel, 63],
  'kubernetes-name': [dnsLabel, 63],
  'dns-name': [/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/, 253],
  'image-tag': [/^\w[\w.-]*$/, 128],
  'tag-pattern': [/^[\w*?][\w.*?-]*$/, 128],
  'image-name': [/^([a-z0-9.-]+(:\d{1,5})?\/)?[a-z0-9][a-z0-9._/-]*$/, 255],
  'database-name': [/^[a-z_][a-z0-9_]*$/, 63],
  path: [/^[\w.~/-]+$/, 1024],
};

describe.each(Object.entries(forms) as [NameTarget, readonly [RegExp, number]][])(
  'any template for a %s',
  (target, [form, limit]) => {
    it('becomes one, within its limit, the same every time', () => {
      fc.assert(
        fc.property(anyTemplate, anyValues, (template, given) => {
          const text = renderTemplate(template, given, target);
          expect(text).toMatch(form);
          expect(text.length).toBeLessThanOrEqual(limit);
          expect(renderTemplate(template, { ...given }, target)).toBe(text);
        }),
      );
    });

    it('keeps apart values that differ only where they are cut off', () => {
      const long = fc.stringMatching(/^[a-z0-9]{1030,1100}$/);
      fc.assert(
        fc.property(long, fc.stringMatching(/^[a-z0-9]{1,9}$/), (ref_name, more) => {
          const render = (name: string): string => renderTemplate('{ref_name}', { ref_name: name }, target);
          expect(render(ref_name)).not.toBe(render(ref_name + more));
        }),
        { numRuns: 30 },
      );
    });
  },
);

describe('what a template lacks', () => {
  it('is what it names and the values do not have', () => {
    expect(missingVariables('{project}-pr-{pr_number}-{pr_number}-{toString}', values)).toEqual(['pr_number', 'toString']);
    expect(missingVariables('{project}', values)).toEqual([]);
  });
});

describe('the values of a source', () => {
  const commit = commitSha('0123456789abcdef0123456789abcdef01234567');

  it('are its ref and its commit; only a branch has the name of a branch', () => {
    const project = projectId('shop');
    expect(sourceValues({ project, ref: { kind: 'branch', name: 'feature/Login' }, commit })).toEqual({
      ref_type: 'branch',
      ref_name: 'feature/Login',
      branch_name: 'feature-Login',
      commit_sha: commit,
    });
    expect(sourceValues({ project, ref: { kind: 'tag', name: 'v1.0.0' }, commit })).toEqual({
      ref_type: 'tag',
      ref_name: 'v1.0.0',
      commit_sha: commit,
    });
  });
});
