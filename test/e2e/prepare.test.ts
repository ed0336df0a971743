import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { environmentDetailSchema, type LogLine } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { app, run, type Services, spec } from './sample-app.ts';
import type { Files } from './sample-repository.ts';

const services: Services = {
  web: { command: run('answer.mjs'), entry: true, ready: { http: '/' } },
  api: { command: run('answer.mjs') },
};

const prepared = (prepare: string, rest: Readonly<Record<string, unknown>> = {}): Files => ({
  ...app(services),
  'eph.yaml': spec(services, rest, prepare),
});

const readLog = async (harness: EphdHarness, name: string): Promise<readonly LogLine[]> => {
  const { body } = await harness.api(`/api/v1/environments/${name}/logs`);
  return [...body.matchAll(/^data: (.*)$/gm)].map(([, line = '']) => JSON.parse(line) as LogLine);
};

const textsOfPrepare = async (harness: EphdHarness, name: string): Promise<readonly string[]> =>
  (await readLog(harness, name)).flatMap(({ part, shared, text }) => (part === 'prepare' && shared ? [text] : []));

describe('prepare', { timeout: 120_000 }, () => {
  it('is seen while it runs, once for all services, and afterwards says what the package cache saved', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const fetching = 'echo fetching; cache="$npm_config_cache"; [ -e "$cache/x" ] || until [ -e go ]; do sleep 0.1; done';
    const slow = `${fetching}; mkdir -p "$cache"; touch "$cache/x"; echo done`;
    const commit = await harness.repository.push('preview/one', prepared(slow));
    const during = /^web is starting: (checkout took [\d.]+ s, )?prepare runs since \d\d:\d\d:\d\d UTC$/;
    const { name, id } = await harness.until('preview/one', 'being prepared', (one) => during.test(one.summary));
    await eventually('the log is there', async () => (await textsOfPrepare(harness, name)).includes('fetching'));
    const page = await harness.visit(name, { headers: { accept: 'text/html' } });
    expect([page.status, page.body]).toEqual([503, expect.stringContaining('prepare runs since')]);
    await harness.untilReported(commit, 'prepare runs since');
    const trees = join(harness.dataFolder, 'process', id, 'trees');
    const checkout = (await readdir(trees)).find((one) => !one.endsWith('.prepared')) ?? '';
    await writeFile(join(trees, checkout, 'go'), '');
    await harness.untilReady('preview/one', commit);
    expect(await textsOfPrepare(harness, name)).toEqual(['fetching', 'done']);

    const again = await harness.repository.push('preview/two', prepared(slow));
    const two = await harness.untilReady('preview/two', again);
    const { components } = await harness.read(`/api/v1/environments/${two.id}`, environmentDetailSchema);
    for (const { parts } of components)
      expect(parts[0]?.message).toMatch(/^prepare took \d+\.\d s \(\d+\.\d s less than without the package cache\)$/);
  });

  it('that fails stalls with its last lines and without secrets, until there is a new commit', async () => {
    await using harness = await EphdHarness.create();
    const config = join(harness.folder, 'ephd.yaml');
    const secret = 'sesame-open-4711';
    await writeFile(
      config,
      JSON.stringify({
        projects: [
          {
            name: 'shop',
            trusted: true,
            location: harness.repository.path,
            variables: { TOKEN: { value: secret, secret: true } },
          },
        ],
      }),
    );
    const ephd = await harness.start({ projects: [], args: ['--config', config] });
    const env = { environment: { env: { TOKEN: '${TOKEN}' } } };
    const first = await harness.untilReady('preview/a', await harness.repository.push('preview/a', app()));
    await harness.repository.push('preview/a', prepared('echo "login with $TOKEN"; echo refused; exit 3', env));
    const failed = await harness.until('preview/a', 'stalled', ({ conditions }) =>
      conditions.some(({ type, status }) => type === 'Stalled' && status === 'True'),
    );
    const why = 'prepare failed: It exited with code 3. Its last lines were: login with *** | refused';
    expect(failed).toMatchObject({
      phase: 'Degraded',
      summary: `web does not get ready: ${why}; the version before keeps serving`,
    });
    expect(JSON.parse((await harness.visit(first.name)).body)).toMatchObject({ commit: first.commit });
    expect(await textsOfPrepare(harness, first.name)).toEqual(['login with ***', 'refused']);
    expect(JSON.stringify(ephd.lines)).not.toContain(secret);

    const mended = await harness.repository.push('preview/a', prepared('test "$TOKEN" = sesame-open-4711', env));
    await harness.untilReady('preview/a', mended);
  });
});
