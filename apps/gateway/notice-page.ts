import { createHash } from 'node:crypto';
import type { EnvironmentName, Phase } from '@eph/contract';

/** Why an environment does not answer. Programs get it as JSON, people as a page. */
export interface Notice {
  readonly environment: EnvironmentName;
  /** Absent when the environment counts as ready but did not answer. */
  readonly phase?: Phase;
  readonly summary: string;
  readonly waitingFor: readonly string[];
}

/** Distinguishes a notice from an answer of the environment, which may be a 503 too. */
export const noticeHeader = 'x-eph-notice';

const style = `
:root { color-scheme: light dark;
  --ground: #f6f7f9; --card: #fff; --line: #e3e6ea; --ink: #1c2430; --quiet: #667085; --bar: #3b6ef6; --halt: #c8403c; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #101418; --card: #181d23; --line: #2a313a; --ink: #e8ebef; --quiet: #95a0ae; --bar: #7aa2ff; --halt: #ff8a80; }
}
* { box-sizing: border-box; margin: 0; }
body { min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: anywhere; }
main { position: relative; overflow: hidden; width: 100%; max-width: 34rem; padding: 2rem;
  background: var(--card); border: 1px solid var(--line); border-radius: 14px; }
main::before { content: ""; position: absolute; top: 0; left: 0; width: 35%; height: 3px; background: var(--bar);
  animation: pass 2.2s ease-in-out infinite alternate; }
@keyframes pass { to { left: 65%; } }
[data-phase="Failed"] main::before { width: 100%; background: var(--halt); animation: none; }
@media (prefers-reduced-motion: reduce) { main::before { width: 100%; animation: none; } }
.name { font: .85rem/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: var(--quiet); }
h1 { margin: .3rem 0 .8rem; font-size: 1.5rem; line-height: 1.25; font-weight: 600; }
h2 { margin: 1.5rem 0 .4rem; font-size: .85rem; font-weight: 600; color: var(--quiet); }
ul { padding: 0; list-style: none; }
li { padding: .45rem 0; border-top: 1px solid var(--line); }
footer { margin-top: 1.6rem; font-size: .85rem; color: var(--quiet); }
[hidden] { display: none; }
`;

/** Updates the page while the environment starts, and reloads once it answers. */
const script = `
const { phase, seconds } = document.documentElement.dataset;
const at = (id) => document.getElementById(id);
const show = (notice) => {
  at('summary').textContent = notice.summary;
  at('waiting').hidden = notice.waitingFor.length === 0;
  at('list').replaceChildren(...notice.waitingFor.map((line) => {
    const item = document.createElement('li');
    item.textContent = line;
    return item;
  }));
};
const poll = async () => {
  try {
    const answer = await fetch(location.href, { headers: { accept: 'application/json' }, cache: 'no-store', redirect: 'manual' });
    if (!answer.headers.has('${noticeHeader}')) return location.reload();
    const notice = await answer.json();
    if ((notice.phase ?? '') !== phase) return location.reload();
    show(notice);
  } catch { /* The gateway cannot be reached now; try again. */ }
  setTimeout(poll, seconds * 1000);
};
setTimeout(poll, seconds * 1000);
`;

const sha256 = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

export const noticePagePolicy = [
  `default-src 'none'`,
  `style-src ${sha256(style)}`,
  `script-src ${sha256(script)}`,
  `connect-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

const headlines: { readonly [phase in Phase]: string } = {
  Pending: 'Waiting to start',
  Progressing: 'Starting',
  Ready: 'Starting',
  Degraded: 'Starting',
  Failed: 'Failed to start',
  Removing: 'Being removed',
  Held: 'No longer wanted',
};

/** Everything in a notice may come from a repository, so all of it is escaped. */
export const renderNoticePage = ({ environment, phase, summary, waitingFor }: Notice, seconds: number): string => {
  const headline = phase === undefined ? 'No answer' : headlines[phase];
  return `<!doctype html>
<html lang="en" data-phase="${escape(phase ?? '')}" data-seconds="${seconds}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${headline} · ${escape(environment)}</title>
<noscript><meta http-equiv="refresh" content="${seconds}"></noscript>
<style>${style}</style>
</head>
<body>
<main>
<p class="name">${escape(environment)}</p>
<h1>${headline}</h1>
<p id="summary" role="status">${escape(summary)}</p>
<section id="waiting"${waitingFor.length === 0 ? ' hidden' : ''}>
<h2>Waiting for</h2>
<ul id="list">${waitingFor.map((line) => `<li>${escape(line)}</li>`).join('')}</ul>
</section>
<footer>This page refreshes automatically.</footer>
</main>
<script>${script}</script>
</body>
</html>
`;
};

const entities: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
