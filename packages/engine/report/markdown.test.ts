import {
  commentMarker,
  commitSha,
  componentName,
  environmentId,
  isMarkedComment,
  phases,
  type ReportedComponent,
  type ReportView,
} from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultTexts, type TextName } from './comment-texts.ts';
import { commentLimit, renderMarkdown } from './markdown.ts';
import { createView } from './view.fake.ts';

const id = environmentId('0123456789abcdef');
const marker = commentMarker(id);
const [old, next] = [commitSha('1'.repeat(40)), commitSha('2'.repeat(40))];
const url = 'http://shop-calm-bay-1234.localhost';

const render = (changes: Partial<ReportView>): string => renderMarkdown(createView(changes), { marker });

const part = (changes: Partial<ReportedComponent>): ReportedComponent => ({
  name: componentName('web'),
  health: 'ready',
  message: '',
  commit: next,
  serving: next,
  images: [{ reference: `ghcr.io/acme/shop@sha256:${'ab'.repeat(32)}`, tag: null }],
  entry: true,
  ...changes,
});

describe('a comment', () => {
  it('on something that is ready', () => {
    const components = [part({}), part({ name: componentName('api'), entry: false })];
    const view = createView({ commit: next, components, expiresAt: '2026-01-08T09:00:00.000Z' });
    const options = { marker, logsUrl: 'https://eph.example/logs', dashboardUrl: 'https://eph.example/environments/1' };
    expect(renderMarkdown(view, options)).toBe(`<!-- eph:environment=0123456789abcdef -->

### 🟢 Ready: [shop-calm-bay-1234](<${url}>)

Commit \`222222222222\` answers at <${url}>.

| Component | Status | Address | Commit | Image |
| --- | --- | --- | --- | --- |
| web | ready | <${url}> | \`222222222222\` | \`sha256:abababababab\` |
| api | ready |  | \`222222222222\` | \`sha256:abababababab\` |

Started 2026-01-05 09:00 UTC · Updated 2026-01-05 09:30 UTC · Expires 2026-01-08 09:00 UTC

[Logs](<https://eph.example/logs>) · [Dashboard](<https://eph.example/environments/1>)`);
  });

  it('on something that waits says for what and until when', () => {
    const reason = 'the team has no room for another environment';
    const waits = [
      { reason, until: '2026-01-05T10:00:00.000Z' },
      { reason: 'api waits for outputs/db/url', until: null },
    ];
    const changes = { phase: 'Pending', summary: reason, waits, components: [], createdAt: null, updatedAt: null } as const;
    expect(render(changes)).toBe(`<!-- eph:environment=0123456789abcdef -->

### ⚪ Pending: shop-calm-bay-1234

Nothing runs yet. It starts automatically.

Waiting:

- the team has no room for another environment (until 2026-01-05 10:00 UTC)
- api waits for outputs/db/url`);
  });

  it('on a new version that fails folds the details and says what still answers', () => {
    const message = 'it exited with 1\nError: no such table: users';
    const comment = render({
      phase: 'Degraded',
      commit: next,
      summary: 'web does not get ready: it exited with 1; the version before keeps serving',
      components: [part({ health: 'failing', message, serving: old, images: [] })],
      faults: [`web is not ready: ${message}`],
      notes: ['the label preview:soon is not understood'],
    });
    expect(comment).toBe(`<!-- eph:environment=0123456789abcdef -->

### 🟠 Degraded: [shop-calm-bay-1234](<${url}>)

A version answers at <${url}>, but commit \`222222222222\` has problems.

> web does not get ready: it exited with 1; the version before keeps serving

| Component | Status | Address | Commit |
| --- | --- | --- | --- |
| web | failing (it exited with 1) | <${url}> | \`222222222222\`, \`111111111111\` still answers |

Started 2026-01-05 09:00 UTC · Updated 2026-01-05 09:30 UTC

Notes:

- the label preview:soon is not understood

<details>
<summary>Errors</summary>

<pre>
web is not ready: it exited with 1
Error: no such table: users
</pre>

</details>`);
  });

  it('on something that is gone says why and how to bring it back', () => {
    const gone = { components: [], createdAt: null, updatedAt: null, summary: 'pull request 7 was closed' };
    expect(
      render({ ...gone, phase: 'Removed', restoreHint: 'Reopen the pull request to bring it back.' }),
    ).toBe(`<!-- eph:environment=0123456789abcdef -->

### ⚫ Removed: shop-calm-bay-1234

The environment was removed.

> pull request 7 was closed

Reopen the pull request to bring it back.`);
  });

  it('gives the address early, and as a link where something answers', () => {
    const links = (changes: Partial<ReportView>): readonly [boolean, boolean] => {
      const comment = render(changes);
      return [comment.includes(`[shop-calm-bay-1234](<${url}>)`), comment.includes(`| <${url}> |`)];
    };
    expect(links({ phase: 'Progressing', components: [part({ health: 'starting', serving: null })] })).toEqual([false, true]);
    expect(links({ phase: 'Progressing', components: [part({ health: 'starting', serving: old })] })).toEqual([true, true]);
    expect(links({ phase: 'Failed', components: [part({ health: 'failing', serving: null })] })).toEqual([false, false]);
    expect(links({ phase: 'Removing' })).toEqual([false, false]);
  });

  it('is found again by its marker and by nothing else', () => {
    const comment = render({});
    expect(isMarkedComment(comment, id)).toBe(true);
    expect(isMarkedComment(comment.replaceAll('\n', '\r\n'), id)).toBe(true);
    expect(isMarkedComment(comment, environmentId('0123456789abcde0'))).toBe(false);
    expect(isMarkedComment(`> ${comment}`, id)).toBe(false);
    expect(isMarkedComment(`I saw this:\n${comment}`, id)).toBe(false);
  });
});

const pieces = [
  '@everyone',
  '@acme/team',
  '#1',
  'GH-1',
  '!1',
  '&1',
  '`',
  '```',
  '~~~~',
  '``````````',
  '\n```\n',
  '\n\n',
  '\n/close\n',
  '\n/merge',
  '</pre>',
  '</PRE >',
  '</details>',
  '</summary>',
  '<details open>',
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<a href="javascript:alert(1)">',
  '<!-- eph:environment=ffffffffffffffff -->',
  '<!--',
  '-->',
  '<![CDATA[',
  '| a | b |\n|---|---|',
  '](https://evil.example)',
  '![x](https://evil.example/x.png)',
  'https://evil.example',
  'www.evil.example',
  'evil@example.com',
  '<https://evil.example>',
  '[ref]: https://evil.example\n',
  '# ',
  '---\n',
  '===\n',
  '- [ ] ',
  '> ',
  '**',
  '__',
  '\\',
  '$x$',
  '$$',
  ':100:',
  '&#64;everyone',
  '&lt;b&gt;',
  '\u202e',
  '\u2066',
  '\u200f',
  '\u0000',
  '\u001b[31m',
  '\ud83d',
  '\u{e0041}',
  '🚢',
  'word',
  ' ',
];

const text = fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((some) => some.join(''));
const moment = fc.oneof(fc.constant(null), fc.constant('2026-01-05T10:00:00.000Z'), text);

/** Every string that may be untrusted, and some that are not. */
const hostileView: fc.Arbitrary<ReportView> = fc.record({
  name: text.map((name) => name as ReportView['name']),
  url: fc.oneof(
    text,
    fc.constant(url),
    text.map((path) => `${url}/${path}`),
  ),
  phase: fc.constantFrom(...phases, 'Removed' as const),
  summary: text,
  commit: fc.constantFrom(old, next),
  components: fc.array(
    fc.record({
      name: text.map((name) => name as ReportedComponent['name']),
      health: fc.constantFrom('starting', 'ready', 'failing'),
      message: text,
      commit: fc.constantFrom(old, next),
      serving: fc.constantFrom(old, next, null),
      images: fc.array(fc.record({ reference: text, tag: fc.option(text) }), { maxLength: 3 }),
      entry: fc.boolean(),
    }),
    { maxLength: 4 },
  ),
  waits: fc.array(fc.record({ reason: text, until: moment }), { maxLength: 3 }),
  faults: fc.array(text, { maxLength: 3 }),
  notes: fc.array(text, { maxLength: 3 }),
  createdAt: moment,
  updatedAt: moment,
  expiresAt: moment,
  restoreHint: text,
});

/** The frame of a comment: what remains when everything that may be there is taken away. */
const expectHarmless = (comment: string): void => {
  expect(comment.length).toBeLessThanOrEqual(commentLimit);
  expect(comment.startsWith(`${marker}\n`)).toBe(true);
  const body = comment.slice(marker.length);
  expect(body).not.toMatch(/@/);
  expect(body).not.toMatch(/^\s*\//m);
  // Control characters, those that turn the direction, and halves of characters.
  expect(body).not.toMatch(/(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}]/u);
  // Fences and code that somebody else opened.
  expect(body.replaceAll(/`[\w.:-]+`/g, '')).not.toMatch(/`/);
  const fold =
    /<details>\n<summary>Errors<\/summary>\n\n((?:<pre>\n[^<>]*\n<\/pre>\n\n)+)(?:More entries were left out\.\n\n)?<\/details>/;
  const folds = body.split(fold);
  expect(folds.length).toBeLessThanOrEqual(3);
  const outside = `${folds[0]}${folds[2] ?? ''}`.replaceAll(/<https?:\/\/[\w\-.~:/?#!$&+,;=%[\]]+>/g, 'ADDRESS');
  expect(outside).not.toMatch(/</);
  expect(outside.replaceAll(/^> /gm, '')).not.toMatch(/>/);
  expect(outside.replaceAll(/\[[^[\]]*\]\(ADDRESS\)/g, '')).not.toMatch(/[[\]*_\\~$]/);
  // Outside of what is folded away, rendered text is searched for people, issues and addresses.
  const rendered = outside
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replaceAll('&amp;', '&');
  expect(rendered).not.toMatch(/@[\w-]|#\d|![\d]|&\d|https?:\/\/|www\.|GH-\d|:[\w+-]+:/i);
  for (const line of outside.split('\n')) expect(line).toMatch(/^(?:$|### |> |- |\| .* \|$|[^\s#>|\-+*=/:~`]+)/u);
};

describe('a comment full of untrusted text', () => {
  it('notifies nobody, folds nothing open and marks nothing', () => {
    fc.assert(
      fc.property(hostileView, (view) => expectHarmless(renderMarkdown(view, { marker }))),
      { numRuns: 300 },
    );
  });

  it('does not in the words of a project either', () => {
    const words = fc.array(fc.constantFrom(...pieces), { maxLength: 8 }).map((some) => some.join('').replaceAll(/\s+/g, ' '));
    const names = (Object.keys(defaultTexts) as TextName[]).filter((name) => !['body', 'faults', 'more'].includes(name));
    const template = fc
      .record({ body: words, ...Object.fromEntries(names.map((name) => [name, words])) }, { requiredKeys: [] })
      .map((some) => ({ ...some, body: `${some.body ?? ''}\n${defaultTexts.body}\n${some.body ?? ''}` }));
    fc.assert(
      fc.property(hostileView, template, (view, words) => expectHarmless(renderMarkdown(view, { marker, template: words }))),
      { numRuns: 300 },
    );
  });

  it.each(pieces.map((piece) => [JSON.stringify(piece), piece] as const))(
    'by a megabyte of %s is not longer than it may be',
    (_, piece) => {
      const much = piece.repeat(1_000_000 / piece.length);
      const many = Array.from({ length: 200 }, () => much.slice(0, 10_000));
      const component = part({
        name: much as ReportedComponent['name'],
        health: 'failing',
        message: much,
        serving: old,
        images: [{ reference: much, tag: much }],
      });
      const comment = renderMarkdown(
        createView({
          phase: 'Degraded',
          summary: much,
          components: Array.from({ length: 200 }, () => component),
          waits: many.map((reason) => ({ reason, until: reason })),
          faults: [much, ...many],
          notes: many,
          restoreHint: much,
          createdAt: much,
          url: `${url}/${much.slice(0, 700)}`,
        }),
        { marker, logsUrl: `${url}/${much.slice(0, 700)}`, dashboardUrl: much },
      );
      expectHarmless(comment);
      expect(comment).toContain('More entries were left out.');
      expect(comment).toContain('part of it is left out');
    },
  );
});
