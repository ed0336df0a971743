import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeClock } from '@eph/engine/time/clock.contract';
import { describe, expect, it } from 'vitest';
import { backgroundClock } from './background-clock.ts';

describe('the clock of background work', () => {
  describeClock(() => ({ clock: backgroundClock, pass: (ms) => sleep(ms) }));

  it('keeps no process alive, and waits for as long as a timer of Node can', () => {
    const source = `
      import { backgroundClock } from ${JSON.stringify(join(import.meta.dirname, 'background-clock.ts'))};
      backgroundClock.after(366 * 24 * 60 * 60_000, () => console.log('called back'));
      await new Promise((resolve) => setTimeout(resolve, 20));
      console.log('ends');
    `;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' });
    expect([stdout, stderr]).toEqual(['ends\n', '']);
  });
});
