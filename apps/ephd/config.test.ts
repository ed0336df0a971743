import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'eph-config-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const read = (args: readonly string[], environment: Record<string, string> = {}): ReturnType<typeof readConfig> =>
  readConfig(args, { INIT_CWD: folder, ...environment });

const write = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const faultsOf = (args: readonly string[], environment?: Record<string, string>): string => {
  try {
    read(args, environment);
  } catch (error) {
    return (error as Error).message;
  }
  return 'no fault';
};

describe('configuration', () => {
  it('needs nothing but a project', () => {
    expect(read(['--project', 'shop.git'], { XDG_DATA_HOME: '/data' })).toMatchObject({
      dataFolder: '/data/eph',
      api: { host: '127.0.0.1', port: 7070 },
      gateway: { port: 7080, domain: 'localhost' },
      databaseUrl: undefined,
      deletionBound: { atLeast: 5, share: 0.2 },
      projects: [{ id: 'shop', location: join(folder, 'shop.git') }],
    });
  });

  it.each([
    ['/srv/git/My Shop.git', 'my-shop', '/srv/git/My Shop.git'],
    ['/srv/shop/.git', 'shop', '/srv/shop/.git'],
    ['https://git.example.com/team/blog.git', 'blog', 'https://git.example.com/team/blog.git'],
    ['git@example.com:team/blog.git', 'blog', 'git@example.com:team/blog.git'],
    ['git@example.com:blog.git', 'blog', 'git@example.com:blog.git'],
  ])('names %s %s', (location, id, resolved) => {
    expect(read(['--project', location])).toMatchObject({ projects: [{ id, location: resolved }] });
  });

  it('lets a flag win over a variable and a variable over the file', () => {
    const file = write(
      'layers.yaml',
      'api: { port: 1 }\ngateway: { port: 2 }\nlog_level: warn\nprojects: [{ name: a, location: a.git }]\n',
    );
    expect(read(['--config', file, '--port', '11'], { EPH_PORT: '12', EPH_GATEWAY_PORT: '22' })).toMatchObject({
      api: { port: 11 },
      gateway: { port: 22 },
      logLevel: 'warn',
      projects: [{ id: 'a', location: join(folder, 'a.git') }],
    });
  });

  it('takes paths of the file from the folder of the file, and those of flags from where the command was typed', () => {
    mkdirSync(join(folder, 'etc'));
    const file = write('etc/ephd.yaml', 'data: var\nprojects: [{ name: a, location: ../a.git }]\n');
    expect(read(['--config', 'etc/ephd.yaml'])).toMatchObject({
      dataFolder: join(folder, 'etc/var'),
      projects: [{ location: join(folder, 'a.git') }],
    });
    expect(read(['--config', file, '--data', 'here'])).toMatchObject({ dataFolder: join(folder, 'here') });
  });

  it('reports all faults at once', () => {
    const file = write('bad.yaml', 'api: { prt: 1 }\nworkers: many\nprojects: [{ name: "No Name", location: "" }]\n');
    const faults = faultsOf(['--config', file]);
    expect(faults).toContain('prt');
    expect(faults).toContain('workers');
    expect(faults).toContain('projects.0.name');
    expect(faults).toContain('projects.0.location');
  });

  it.each([
    [['--project', 'a.git', '--port', 'x'], 'api.port'],
    [['--projects', 'a.git'], '--projects'],
    [['--project', 'a/shop', '--project', 'b/shop'], 'two projects are called shop'],
    [['--project', '/'], 'no name can be made of it'],
    [['--config', 'missing.yaml'], 'missing.yaml'],
    [[], 'no project'],
  ])('explains what is wrong with %j', (args, sentence) => {
    expect(faultsOf(args)).toContain(sentence);
  });

  it('answers --help', () => {
    expect(read(['--help'])).toBe('help');
  });
});
