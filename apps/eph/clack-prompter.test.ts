import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createClackPrompter } from './clack-prompter.ts';
import type { Prompter } from './prompter.ts';
import { FakeStream } from './terminal.fake.ts';

const enter = '\r';
const down = '\x1b[B';
const controlC = '\x03';

/** A keyboard that waits until the screen shows a text before it types. */
const sitDown = (): {
  prompter: Prompter;
  screen: FakeStream;
  type: (afterText: string, ...keys: readonly string[]) => Promise<void>;
} => {
  const keyboard = new PassThrough();
  const screen = new FakeStream({ isTTY: true });
  const prompter = createClackPrompter(keyboard, screen);
  const type = async (afterText: string, ...keys: readonly string[]): Promise<void> => {
    await expect.poll(() => stripVTControlCharacters(screen.text)).toContain(afterText);
    for (const key of keys) {
      keyboard.write(key);
      // Each key is an event of its own, as it is on a terminal.
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { prompter, screen, type };
};

const choices = [
  { value: 'process', label: 'process', hint: 'runs it' },
  { value: 'kubernetes', label: 'kubernetes' },
  { value: 'compose', label: 'compose' },
];

describe('questions on a terminal', () => {
  it('are answered with the proposal by Enter', async () => {
    const { prompter, type } = sitDown();
    const answer = prompter.text({ message: 'Name?', proposal: 'shop' });
    await type('shop', enter);
    expect(await answer).toBe('shop');
  });

  it('take what is typed, once it is valid', async () => {
    const { prompter, type } = sitDown();
    const validate = (text: string): string | undefined => (text === 'shop-2' ? undefined : 'Not that one.');
    const answer = prompter.text({ message: 'Name?', proposal: 'shop', validate });
    await type('shop', enter);
    await type('Not that one.', '-', '2', enter);
    expect(await answer).toBe('shop-2');
  });

  it('may be left empty', async () => {
    const { prompter, type } = sitDown();
    const answer = prompter.text({ message: 'Path?', proposal: '' });
    await type('Path?', enter);
    expect(await answer).toBe('');
  });

  it('offer a choice, the first one being proposed', async () => {
    const first = sitDown();
    const proposed = first.prompter.choose({ message: 'Which?', choices });
    await first.type('runs it', enter);
    expect(await proposed).toBe('process');
    const second = sitDown();
    const other = second.prompter.choose({ message: 'Which?', choices });
    await second.type('runs it', down, enter);
    expect(await other).toBe('kubernetes');
  });

  it('offer several, all of them being proposed', async () => {
    const first = sitDown();
    const proposed = first.prompter.chooseSeveral({ message: 'Which?', choices });
    await first.type('Which?', enter);
    expect(await proposed).toStrictEqual(['process', 'kubernetes', 'compose']);
    const second = sitDown();
    const fewer = second.prompter.chooseSeveral({ message: 'Which?', choices });
    await second.type('Which?', down, ' ', enter);
    expect(await fewer).toStrictEqual(['process', 'compose']);
  });

  it('are yes or no', async () => {
    const first = sitDown();
    const yes = first.prompter.confirm('Write it?');
    await first.type('Write it?', enter);
    expect(await yes).toBe(true);
    const second = sitDown();
    const no = second.prompter.confirm('Write it?');
    await second.type('Write it?', 'n');
    expect(await no).toBe(false);
  });

  it('show nothing of a secret', async () => {
    const { prompter, screen, type } = sitDown();
    const answer = prompter.secret('Token?');
    await type('Token?', 'eph_abc', enter);
    expect(await answer).toBe('eph_abc');
    expect(screen.text).not.toMatch(/eph|abc|[•▪*]{2}/);
  });

  it('end the command with Ctrl-C', async () => {
    const { prompter, type } = sitDown();
    const answer = prompter.choose({ message: 'Which?', choices });
    await Promise.all([
      expect(answer).rejects.toMatchObject({ name: 'CommandFailure', code: 'cli.cancelled', message: 'Cancelled.' }),
      type('Which?', controlC),
    ]);
  });

  it('show untrusted names as text', async () => {
    const evil = 'a\x1b]0;owned\x07b';
    const { prompter, screen, type } = sitDown();
    const answer = prompter.choose({ message: evil, choices: [{ value: 'x', label: evil, hint: evil }] });
    await type('owned', enter);
    await answer;
    expect(screen.text).not.toContain('\x1b]0;');
  });
});
