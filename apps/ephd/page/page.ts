import { hash } from 'node:crypto';

/**
 * The page that a link of `eph dashboard` opens: it exchanges the code in the fragment for a session and lists environments.
 * The session is in localStorage and not in a cookie, which services on other ports of the same host would get.
 */
const script = `
const key = 'eph.session';
const state = document.getElementById('state');
const code = new URLSearchParams(location.hash.slice(1)).get('code');
history.replaceState(null, '', location.pathname);

const ask = async (path, options = {}) => {
  const session = localStorage.getItem(key);
  const headers = { ...options.headers, ...(session && { authorization: 'Bearer ' + session }) };
  const reply = await fetch(path, { ...options, headers });
  const body = await reply.json();
  if (reply.ok) return body;
  if (reply.status === 401) localStorage.removeItem(key);
  throw new Error(body.detail);
};

const cell = (row, text, link) => {
  const place = row.insertCell();
  const shown = link === undefined ? place : place.appendChild(document.createElement('a'));
  if (link !== undefined) shown.href = link;
  shown.textContent = text;
};

const show = async () => {
  const environments = [];
  let after;
  do {
    const page = await ask('/api/v1/environments?limit=1000' + (after ? '&after=' + encodeURIComponent(after) : ''));
    environments.push(...page.environments);
    after = page.next;
  } while (after);
  const body = document.createElement('tbody');
  for (const { name, phase, summary, url } of environments) {
    const row = body.insertRow();
    cell(row, name, url);
    cell(row, phase);
    cell(row, summary);
  }
  document.querySelector('tbody').replaceWith(body);
  state.textContent = environments.length === 0 ? 'There are no environments.' : environments.length + ' environments';
};

const run = async () => {
  try {
    if (code) {
      localStorage.removeItem(key);
      const body = JSON.stringify({ code });
      const { token } = await ask('/api/v1/auth/login', { method: 'POST', body, headers: { 'content-type': 'application/json' } });
      localStorage.setItem(key, token);
    }
    if (!localStorage.getItem(key)) {
      state.textContent = 'Run eph dashboard for a link that signs you in.';
      return;
    }
    await show();
    setTimeout(run, 5000);
  } catch (error) {
    state.textContent = error.message;
    if (localStorage.getItem(key)) setTimeout(run, 5000);
  }
};
await run();
`;

const style = `
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color-scheme: light dark; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #8884; padding: 0.4rem 0.6rem; text-align: left; vertical-align: top; }
`;

export const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Eph</title>
<style>${style}</style>
</head>
<body>
<h1>Environments</h1>
<p id="state" role="status">…</p>
<table>
<thead><tr><th scope="col">Name</th><th scope="col">Phase</th><th scope="col">Summary</th></tr></thead>
<tbody></tbody>
</table>
<script type="module">${script}</script>
</body>
</html>
`;

const digestOf = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;

export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    "connect-src 'self'",
    `script-src ${digestOf(script)}`,
    `style-src ${digestOf(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
};
