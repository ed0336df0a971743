import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const spec = `version: "1.0"
name: shop

triggers:
  - type: git_branch
    patterns: ["preview/**"]

process:
  services:
    web:
      command: [node, web.mjs]
      entry: true
      ready: { http: /healthz }
      env:
        API_URL: outputs/api/url
    api:
      command: [node, api.mjs]
      ready: { http: /healthz }
`;

/** A server that lets requests under way finish when it is asked to stop. */
const server = `import { createServer } from 'node:http';

export const serve = (answer) => {
  const server = createServer((request, response) => {
    if (request.url === '/healthz') return response.end('ok');
    answer(request, response);
  });
  server.listen(Number(process.env.PORT), '127.0.0.1');
  process.on('SIGTERM', () => server.close(() => process.exit(0)));
};
`;

const api = `import { serve } from './serve.mjs';

serve((_, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ offer: 'Three plums for the price of two', commit: process.env.EPH_COMMIT }));
});
`;

const web = (headline: string): string => `import { serve } from './serve.mjs';

const page = (offer, commit) => \`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Shop</title>
<style>
  body { font: 18px/1.5 system-ui; max-width: 34rem; margin: 12vh auto; padding: 0 1rem; }
  code { background: #8882; padding: .1em .4em; border-radius: .3em; }
</style>
<h1>${headline}</h1>
<p>\${offer}</p>
<p>Commit <code>\${commit.slice(0, 12)}</code> of <code>\${process.env.EPH_REF}</code>, served by <code>\${process.env.EPH_ENVIRONMENT}</code>.</p>
</html>\`;

serve(async (_, response) => {
  const { offer, commit } = await (await fetch(process.env.API_URL)).json();
  response.setHeader('content-type', 'text/html; charset=utf-8');
  response.end(page(offer, commit));
});
`;

/** A small shop in a working copy, with a bare repository to push to. */
export interface SampleProject {
  readonly origin: string;
  readonly workingCopy: string;
  /** Commits a page with this headline on a branch and pushes it. Returns the commit. */
  push(branch: string, headline: string): Promise<string>;
  deleteBranch(branch: string): Promise<void>;
}

export const createSampleProject = async (folder: string): Promise<SampleProject> => {
  const origin = join(folder, 'shop.git');
  const workingCopy = join(folder, 'shop');
  const git = async (...args: string[]): Promise<string> => {
    const { stdout } = await run('git', args, { cwd: workingCopy, env: isolated });
    return stdout.trim();
  };
  mkdirSync(workingCopy, { recursive: true });
  await run('git', ['init', '--quiet', '--bare', '--initial-branch=main', origin], { env: isolated });
  await git('init', '--quiet', '--initial-branch=main');
  await git('remote', 'add', 'origin', origin);
  for (const [name, content] of Object.entries({
    'eph.yaml': spec,
    'serve.mjs': server,
    'api.mjs': api,
    'web.mjs': web('The shop'),
  }))
    writeFileSync(join(workingCopy, name), content);
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'Open the shop');
  await git('push', '--quiet', 'origin', 'main');
  return {
    origin,
    workingCopy,
    async push(branch, headline) {
      await git('checkout', '--quiet', '-B', branch);
      writeFileSync(join(workingCopy, 'web.mjs'), web(headline));
      await git('commit', '--quiet', '--all', '--message', headline);
      await git('push', '--quiet', 'origin', branch);
      return git('rev-parse', 'HEAD');
    },
    async deleteBranch(branch) {
      await git('push', '--quiet', 'origin', '--delete', branch);
      await git('checkout', '--quiet', 'main');
      await git('branch', '--quiet', '-D', branch);
    },
  };
};

/** The developer's own Git configuration has no say in the demo, and is not touched by it. */
const isolated = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Demo',
  GIT_AUTHOR_EMAIL: 'demo@localhost',
  GIT_COMMITTER_NAME: 'Demo',
  GIT_COMMITTER_EMAIL: 'demo@localhost',
};
