import { createHash } from 'node:crypto';
import { environmentName, phases } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { type Notice, noticePagePolicy, renderNoticePage } from './notice-page.ts';

const notice: Notice = {
  environment: environmentName('shop-serene-ocean-4207'),
  phase: 'Progressing',
  summary: 'web is starting.',
  waitingFor: ['web answers at /health', 'outputs/db/url'],
};

const between = (page: string, tag: string): string => page.split(`<${tag}>`)[1]?.split(`</${tag}>`)[0] ?? '';

describe('the notice page', () => {
  it('says what the environment waits for', () => {
    const page = renderNoticePage(notice, 2);
    expect(between(page, 'title')).toBe('Starting · shop-serene-ocean-4207');
    expect(page).toContain('>web is starting.</p>');
    expect(page).toContain('<li>web answers at /health</li><li>outputs/db/url</li>');
  });

  it('refreshes itself with and without scripts', () => {
    const page = renderNoticePage(notice, 2);
    expect(page).toContain('<noscript><meta http-equiv="refresh" content="2"></noscript>');
    expect(page).toContain('data-seconds="2"');
  });

  it('lets nothing run or load but its own style and script', () => {
    const page = renderNoticePage(notice, 2);
    const digest = (text: string): string => createHash('sha256').update(text).digest('base64');
    expect(noticePagePolicy).toContain("default-src 'none'");
    expect(noticePagePolicy).toContain(`style-src 'sha256-${digest(between(page, 'style'))}'`);
    expect(noticePagePolicy).toContain(`script-src 'sha256-${digest(between(page, 'script'))}'`);
    expect(page).not.toMatch(/https?:\/\/|\s(src|href|style|on[a-z]+)=/);
  });

  it('shows hostile text as text', () => {
    const hostile = `</p><script>alert(1)</script><img src=x onerror="alert('2')">&amp;`;
    const page = renderNoticePage({ ...notice, summary: hostile, waitingFor: [hostile] }, 2);
    const shown =
      '&lt;/p&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&quot;alert(&#39;2&#39;)&quot;&gt;&amp;amp;';
    expect(page.match(/<script>/g)).toHaveLength(1);
    expect(page).not.toContain('<img');
    expect(page).toContain(`role="status">${shown}</p>`);
    expect(page).toContain(`<li>${shown}</li>`);
  });

  it.each([...phases, undefined])('has words for phase %s', (phase) => {
    const { phase: _, ...rest } = notice;
    const page = renderNoticePage(phase === undefined ? rest : { ...rest, phase }, 2);
    expect(between(page, 'title')).toMatch(/^[A-Z][a-z ]+ · shop-serene-ocean-4207$/);
  });
});
