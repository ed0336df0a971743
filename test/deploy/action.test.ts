import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Origin } from '@eph/adapters/forge-git/origin.fake';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { fillExpressions, findFaults } from './github-actions.ts';

interface Action {
  readonly inputs: Readonly<Record<string, { readonly description: string; readonly default?: string }>>;
  readonly runs: { readonly steps: readonly { readonly run: string; readonly env: Readonly<Record<string, string>> }[] };
}

const folder = join(import.meta.dirname, '../../deploy/github-action');
const text = await readFile(join(folder, 'action.yml'), 'utf8');
const { inputs, runs } = parse(text) as Action;
const [step, ...more] = runs.steps;

/** The variables of the step, as GitHub sets them for an event. */
const variablesFor = (github: unknown, given: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => {
  const defaults = Object.entries(inputs).map(([name, input]) => [name, input.default ?? '']);
  const contexts = { github, inputs: { ...Object.fromEntries(defaults), ...given } };
  return Object.fromEntries(Object.entries(step?.env ?? {}).map(([name, value]) => [name, fillExpressions(value, contexts)]));
};

describe('the action', () => {
  it('is valid for GitHub', async () => {
    expect(await findFaults('action', text)).toEqual([]);
    expect(await findFaults('action', text.replace('inputs.images', 'input.images'))).not.toEqual([]);
  });

  it('writes the note for the head of a pull request in the checkout of its merge commit', async () => {
    await using origin = await Origin.create();
    const head = await origin.push({ kind: 'branch', name: 'topic' }, { 'a.txt': 'head' });
    const merge = await origin.push({ kind: 'branch', name: 'merge' }, { 'a.txt': 'merged' });
    const checkout = join(origin.folder, 'checkout');
    await origin.git('clone', '--quiet', '--depth=1', '--branch=merge', `file://${origin.path}`, checkout);
    const variables = variablesFor({ sha: merge, event: { pull_request: { head: { sha: head } } } }, { images: 'api=api:7' });
    const env = { PATH: process.env.PATH, HOME: checkout, GIT_CONFIG_NOSYSTEM: '1', GITHUB_ACTION_PATH: folder, ...variables };
    await promisify(execFile)('sh', ['-e', '-c', step?.run ?? ''], { cwd: checkout, env });
    expect(more).toEqual([]);
    expect(await origin.git('notes', '--ref=eph-images', 'show', head)).toBe('eph-images: api=api:7');
    await expect(origin.git('notes', '--ref=eph-images', 'show', merge)).rejects.toThrow(/no note found/);
  });

  it('passes every input to the script, under a name that the script knows', async () => {
    const given = Object.fromEntries(Object.keys(inputs).map((name) => [name, `the ${name}`]));
    expect(variablesFor({ sha: 'x' }, given)).toEqual({
      EPH_IMAGES: 'the images',
      EPH_COMMIT: 'the commit',
      EPH_NOTES_REF: 'the notes-ref',
      EPH_REMOTE: 'the remote',
    });
    const script = await readFile(join(folder, 'write-image-note.sh'), 'utf8');
    const read = [...script.matchAll(/^\w+=\$\{(EPH_\w+):-([\w-]*)\}$/gm)].map(([, name = '', value = '']) => [name, value]);
    expect(Object.fromEntries(read)).toEqual({ ...variablesFor({ sha: '' }), EPH_IMAGES: '' });
  });

  it.each([
    ['a push', { sha: 'pushed', event: { head_commit: { id: 'pushed' } } }, 'pushed'],
    ['a pull request', { sha: 'merge', event: { pull_request: { head: { sha: 'head' } } } }, 'head'],
    ['a workflow that follows another', { sha: 'main', event: { workflow_run: { head_sha: 'built' } } }, 'built'],
  ])('takes the commit that was built: %s', (_, github, commit) => {
    expect(variablesFor(github)).toMatchObject({ EPH_COMMIT: commit });
  });

  it('has the inputs and defaults that the guide describes', async () => {
    const guide = await readFile(join(import.meta.dirname, '../../docs/guides/ci.md'), 'utf8');
    const rows = [...guide.matchAll(/^\| `([\w-]+)` +\| (?:`([^`]+)`|[^|]+) +\|/gm)].map(([, name = '', value = '']) => [
      name,
      value,
    ]);
    const defaults = Object.entries(inputs).map(([name, input]) => [name, input.default ?? '']);
    expect(Object.fromEntries(rows)).toMatchObject(Object.fromEntries(defaults));
  });
});
