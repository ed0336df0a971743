import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sessionSchema } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { tmux } from '../parts/tmux.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { openTerminal } from './open-terminal.ts';

const main = join(import.meta.dirname, '../../apps/ephd/start.js');
const eph = join(import.meta.dirname, '../../apps/eph/main.ts');

describeWith(tmux, 'ephd on a terminal', () => {
  it('prints a link that signs a browser in', async () => {
    await using harness = await EphdHarness.create();
    const environment = { PATH: process.env['PATH'], HOME: harness.folder, XDG_STATE_HOME: harness.stateFolder };
    const ports = `--port ${harness.apiPort} --gateway-port ${harness.gatewayPort}`;
    const args = `--project ${harness.repository.path} --data ${harness.dataFolder} ${ports}`;
    // The log goes to a file, as with a journal; the link must not be there.
    const log = join(harness.folder, 'log');
    using terminal = openTerminal(harness.folder, environment, `${process.execPath} ${main} ${args} > ${log}`, 160);
    const code = await eventually('a link is shown', () => /#code=([\w-]+) \(once/.exec(terminal.screen())?.[1]);
    const signIn = () => harness.anonymousApi('/api/v1/auth/login', { method: 'POST', body: JSON.stringify({ code }) });
    const { status, body } = await signIn();
    const headers = { authorization: `Bearer ${sessionSchema.parse(JSON.parse(body)).token}` };
    expect([status, (await harness.anonymousApi('/api/v1/environments', { headers })).status]).toEqual([201, 200]);
    expect((await signIn()).status).toBe(401);
    const logged = readFileSync(log, 'utf8');
    expect([logged.includes('ephd is up'), logged.includes(code)]).toEqual([true, false]);
  });
});

describeWith(tmux, 'eph dashboard on a terminal', () => {
  it('opens the link in a browser, and prints it', { timeout: 60_000 }, async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const programs = join(harness.folder, 'programs');
    const opened = join(harness.folder, 'opened');
    await mkdir(programs);
    await writeFile(join(programs, 'xdg-open'), `#!/bin/sh\necho "$1" >${opened}\n`, { mode: 0o755 });
    const environment = {
      PATH: `${programs}:${process.env['PATH']}`,
      HOME: harness.folder,
      XDG_STATE_HOME: harness.stateFolder,
      EPH_SERVER: `http://127.0.0.1:${harness.apiPort}`,
      DISPLAY: ':0',
    };
    using terminal = openTerminal(harness.folder, environment, `${process.execPath} ${eph} dashboard; sleep 60`, 160);
    const shown = await eventually('a link is shown', () => /http:\S+#code=\S+/.exec(terminal.screen())?.[0]);
    const link = await eventually('it is opened', () => (existsSync(opened) && readFileSync(opened, 'utf8').trim()) || undefined);
    expect(link).toBe(shown);
    const body = JSON.stringify({ code: link.split('#code=')[1] });
    expect((await harness.anonymousApi('/api/v1/auth/login', { method: 'POST', body })).status).toBe(201);
  });
});

describe('ephd without a terminal', () => {
  it('prints no link: a log would keep it for others', async () => {
    await using harness = await EphdHarness.create();
    const ephd = await harness.start();
    const { stderr } = await ephd.stop();
    expect(ephd.lines.map(({ msg }) => msg)).toContain('ephd is up');
    expect(`${stderr}${JSON.stringify(ephd.lines)}`).not.toMatch(/code=/);
  });
});
