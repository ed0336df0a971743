import type { Files } from './sample-repository.ts';

/** A server that finishes running requests when it is asked to stop. */
const serve = `import { createServer } from 'node:http';

export const serve = (answer) => {
  const server = createServer((request, response) => {
    if (request.url === '/healthz') return response.end('ok');
    answer(request, response);
  });
  server.listen(Number(process.env.PORT), '127.0.0.1');
  process.on('SIGTERM', () => server.close(() => process.exit(0)));
};
`;

const shopSpec = `version: "1.0"
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
        BANNER: Opening soon
    api:
      command: [node, api.mjs]
      ready: { http: /healthz }
`;

const shopApi = `import { serve } from './serve.mjs';

serve((_, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ offer: 'Three plums for the price of two', commit: process.env.EPH_COMMIT }));
});
`;

/** The page of the shop. Its content comes from the commit, from its API, from the platform and from an operator. */
export const shopPage = (headline: string): Files => ({
  'web.mjs': `import { serve } from './serve.mjs';

const { BANNER, REGION, EPH_REF, EPH_ENVIRONMENT } = process.env;

const page = (offer, commit) => \`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Shop</title>
<style>
  body { font: 18px/1.5 system-ui; max-width: 34rem; margin: 12vh auto; padding: 0 1rem; }
  code { background: #8882; padding: .1em .4em; border-radius: .3em; }
  aside { background: #fc86; padding: .5em 1em; border-radius: .3em; }
</style>
<aside>\${BANNER}</aside>
<h1>${headline}</h1>
<p>\${offer}</p>
<p>Delivered from <code>\${REGION}</code>.</p>
<p>Commit <code>\${commit.slice(0, 12)}</code> of <code>\${EPH_REF}</code>, served by <code>\${EPH_ENVIRONMENT}</code>.</p>
</html>\`;

serve(async (_, response) => {
  const { offer, commit } = await (await fetch(process.env.API_URL)).json();
  response.setHeader('content-type', 'text/html; charset=utf-8');
  response.end(page(offer, commit));
});
`,
});

export const shopFiles: Files = { 'eph.yaml': shopSpec, 'serve.mjs': serve, 'api.mjs': shopApi, ...shopPage('The shop') };

/** What the page of the news begins with; it comes from the package that it installs. */
export const masthead = 'The Daily Plum';

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

/**
 * A second project, which changes of the shop must not affect. It installs a package with npm, from a folder of its own: the demo needs
 * no network.
 */
export const newsFiles: Files = {
  'eph.yaml': `version: "1.0"
name: news

process:
  prepare: npm ci
  services:
    web:
      command: [node, web.mjs]
      ready: { http: /healthz }
`,
  'serve.mjs': serve,
  'web.mjs': `import masthead from 'masthead';
import { serve } from './serve.mjs';

serve((_, response) => response.end(masthead + ': news from ' + process.env.REGION));
`,
  'package.json': json({ name: 'news', private: true, dependencies: { masthead: 'file:masthead' } }),
  'package-lock.json': json({
    name: 'news',
    lockfileVersion: 3,
    packages: {
      '': { name: 'news', dependencies: { masthead: 'file:masthead' } },
      masthead: { version: '1.0.0' },
      'node_modules/masthead': { resolved: 'masthead', link: true },
    },
  }),
  'masthead/package.json': json({ name: 'masthead', version: '1.0.0', type: 'module', main: 'index.js' }),
  'masthead/index.js': `export default '${masthead}';\n`,
};

export const shopOverride = (banner: string): Files => ({
  'demo/apps/shop/shop/env.yaml': `apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata:
  name: shop-shop
  labels:
    eph.io/type: project
    eph.io/repository: shop
    eph.io/project: shop
data:
  overrides:
    web:
      env:
        BANNER: ${banner}
`,
});

/** The platform's repository: defaults for every component, and what an operator sets for one project. */
export const platformFiles: Files = {
  'demo/env.yaml': `apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata:
  name: cluster
  labels:
    eph.io/type: cluster
data:
  environment:
    name: demo
    domain: localhost
    region: eu-central
  defaults:
    Deployment:
      env:
        REGION: eu-central
      ready:
        timeout: 30s
`,
  ...shopOverride('Free delivery this week'),
};
