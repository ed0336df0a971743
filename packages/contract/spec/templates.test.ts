import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findTemplateFault, findTemplateFaultAt, type TemplateTarget, templateKeys, templateVariables } from './templates.ts';

const allowed = ['project', 'words', 'pr_number', 'commit_sha'] as const;
const choice = 'allowed: {project}, {words}, {pr_number}, {commit_sha}';

describe('a template for a name', () => {
  it.each(['', 'plain', '{project}', '{project}-{words}', '{commit_sha:0:7}', '{project:2:1}{project}', 'a$b-$1'])(
    '%j is sound',
    (text) => {
      expect(findTemplateFault(text, allowed)).toBeUndefined();
    },
  );

  it.each([
    ['{prnumber}', `{prnumber} is not known here; did you mean {pr_number}? ${choice}`],
    ['x-{Project}', `{Project} is not known here; did you mean {project}? ${choice}`],
    ['{nobody}', `{nobody} is not known here; ${choice}`],
    ['{}', `{} is not known here; ${choice}`],
    ['{ project }', `{ project } is not known here; did you mean {project}? ${choice}`],
    ['{__proto__}', `{__proto__} is not known here; ${choice}`],
    ['{constructor}', `{constructor} is not known here; ${choice}`],
    ['{registry}', `{registry} cannot be used here; ${choice}`],
    ['a-{project', '{project is not closed by a }'],
    ['{', '{ is not closed by a }'],
    ['a}', 'there is a } without a { before it: a}'],
    ['{{project}}', '{{project}: a { must be closed before the next one; use single braces'],
    ['{{{{', '{{{{ is not closed by a }'],
    ['{commit_sha:7}', sliceFault('{commit_sha:7}')],
    ['{commit_sha:}', sliceFault('{commit_sha:}')],
    ['{commit_sha:0:0}', sliceFault('{commit_sha:0:0}')],
    ['{commit_sha:-7:7}', sliceFault('{commit_sha:-7:7}')],
    ['{commit_sha:0:7:1}', sliceFault('{commit_sha:0:7:1}')],
    ['{commit_sha:0:99999}', sliceFault('{commit_sha:0:99999}')],
    [
      'x-${project}',
      '${project}: variables of the server cannot be used here; a variable of the template is written without the $',
    ],
    ['${A', '${A: variables of the server cannot be used here; a variable of the template is written without the $'],
  ])('%j is not: %s', (text, fault) => {
    expect(findTemplateFault(text, allowed)).toBe(fault);
  });

  it('is shown on one line, however long it is and whatever it holds', () => {
    const fault = findTemplateFault(`{\u001B[2J\n${'x'.repeat(100_000)}}`, allowed) ?? '';
    expect(fault).toMatch(/^\{\uFFFD\[2J\uFFFDx+… is not known here/);
    expect(fault.length).toBeLessThan(200);
  });
});

function sliceFault(written: string): string {
  return `${written}: a slice is where it begins, counted from 0, and how many characters: {commit_sha:0:7}`;
}

describe('a command', () => {
  const faultOf = (text: string): string | undefined => findTemplateFault(text, ['environment_url', 'commit_sha'], 'text');

  it.each([
    './warm.sh ${environment_url} {environment_url} ${commit_sha:0:7}',
    'curl ${TOKEN} ${LEVEL:-info}',
    "awk '{print $1}' {} + {a,b} }{ {",
    'echo {"a": {"b": 1}}',
    "docker inspect -f '{{.State}}' {{ .x }}",
    '{{nobody}} $${nobody}',
  ])('%j is sound', (text) => {
    expect(faultOf(text)).toBeUndefined();
  });

  it.each([
    [
      '{enviroment_url}',
      '{enviroment_url} is not known here; did you mean {environment_url}? allowed: {environment_url}, {commit_sha}; for the text itself write {{enviroment_url}}',
    ],
    [
      '${nobody}',
      '${nobody} is not known here; allowed: ${environment_url}, ${commit_sha}; variables of the server are written in capitals; for the text itself write $${nobody}',
    ],
    ['{commit_sha:7}', sliceFault('{commit_sha:7}')],
    ['${A', '${A is not closed by a }; write ${NAME} or ${NAME:-default}, and $${ for the text ${'],
    ['${}', '${} is not a variable; write ${NAME} or ${NAME:-default}, and $${ for the text ${'],
    ['${A:?no}', '${A:?no} is not a variable; write ${NAME} or ${NAME:-default}, and $${ for the text ${'],
    ['${A:-${B}}', '${A:-${B}: a default is plain text, without { and without } in it'],
  ])('%j is not: %s', (text, fault) => {
    expect(faultOf(text)).toBe(fault);
  });
});

describe('a value', () => {
  it('takes variables after a $ and leaves braces alone', () => {
    expect(findTemplateFault('{"a": {}} {project} } { ${A}', [], 'value')).toBeUndefined();
    expect(findTemplateFault('${project}', [], 'value')).toBe(
      '${project} cannot be used here; variables of the server are written in capitals; for the text itself write $${project}',
    );
  });
});

describe('any text', () => {
  const targets: readonly TemplateTarget[] = ['dns-label', 'text', 'value'];
  const unit = fc.constantFrom('{', '}', '$', ':', '-', '0', '7', 'project', 'A', '_', 'ü', '__proto__', ' ');

  it('has a fault or has none, and never more than a line of it', () => {
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), fc.constantFrom(...targets), (text, target) => {
        expect((findTemplateFault(text, allowed, target) ?? '').length).toBeLessThan(400);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each(['{', '}', '{{', '${', '$', '$${', '{a', '{a:', '{a}', '${A}', '${A:-', '{project}', '{{a}}'])(
    'is read in one go when it is %j a hundred thousand times',
    (unit) => {
      for (const target of targets)
        expect((findTemplateFault(unit.repeat(100_000), allowed, target) ?? '').length).toBeLessThan(400);
    },
  );
});

describe('the table of keys', () => {
  it('names only variables that there are, each once', () => {
    for (const { variables } of Object.values(templateKeys)) {
      expect(new Set(variables).size).toBe(variables.length);
      for (const variable of variables) expect(Object.keys(templateVariables)).toContain(variable);
    }
  });

  it('allows what the examples of the format use', () => {
    const examples = [
      ['environment.name_template', '{project}-{words}-{number}'],
      ['environment.subdomain_template', '{name}.{base_domain}'],
      ['environment.base_domain', '${EPH_BASE_DOMAIN:-preview.example.com}'],
      ['environment.alias_template', '{project}-pr-{pr_number}'],
      ['environment.images.tag_template', '{ref_type}-{ref_name}-{commit_sha:0:7}'],
      ['environment.images.tag_pattern', 'pr-{pr_number}-*'],
      ['environment.images.required_labels', 'eph.io/commit={commit_sha}'],
      ['kubernetes.context', '${K8S_CONTEXT}'],
      ['kubernetes.namespace_template', 'eph-test-{words}-{number}'],
      ['kubernetes.images.newName', '{registry}/{project}/api'],
      ['kubernetes.images.newTag', '{branch_name}-{commit_sha:0:7}'],
      ['database.instances.connection.database', 'app_pr_{pr_number}'],
      ['services.endpoint', '${AUTH_SERVICE_URL:-https://auth.staging.example.com}'],
      ['secrets.vault.path', 'secret/data/preview/{environment_name}'],
      ['networking.routing.path_prefix', '/preview/{name}'],
      ['hooks.command', '${environment_url}'],
      ['hooks.command', '{environment_name}'],
      ['observability.logs.ship_to', '${LOG_DESTINATION:-stdout}'],
    ] as const;
    for (const [key, text] of examples) expect(findTemplateFaultAt(key, text), key).toBeUndefined();
  });

  it('lets no ref name into commands, hosts and image names', () => {
    for (const key of [
      'hooks.command',
      'services.endpoint',
      'kubernetes.images.newName',
      'environment.images.repository',
    ] as const)
      expect(templateKeys[key].variables).not.toContain('ref_name');
  });
});
