import { environmentId } from '@eph/contract';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { describe, expect, it } from 'vitest';
import { UsageSamples } from './usage-samples.ts';

const id = environmentId('0'.repeat(16));

const start = () => {
  const clock = new ManualClock();
  let readings = 0;
  const faults: Error[] = [];
  const samples = new UsageSamples(clock, () => {
    readings += 1;
    const fault = faults.pop();
    if (fault !== undefined) return Promise.reject(fault);
    return Promise.resolve({ at: new Date(clock.now()).toISOString(), components: [] });
  });
  const live = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(1000);
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    }
  };
  return { clock, samples, live, faults, readings: () => readings };
};

describe('what an environment uses', () => {
  it('is measured again while somebody asks', async () => {
    const { samples, live } = start();
    expect(await samples.ask(id)).toHaveLength(1);
    await live(20);
    const seen = await samples.ask(id);
    expect(seen.map(({ at }) => at.slice(14, 19))).toEqual(['00:00', '00:05', '00:10', '00:15', '00:20', '00:20']);
  });

  it('is not measured any more a minute after the last question', async () => {
    const { clock, samples, live, readings } = start();
    await samples.ask(id);
    await live(80);
    const before = readings();
    expect(clock.pending).toBe(0);
    await live(60);
    expect(readings()).toBe(before);
    expect(await samples.ask(id)).toHaveLength(1);
  });

  it('is measured from the first reading on that works', async () => {
    const { samples, live, faults } = start();
    faults.push(new Error('the provider does not answer'));
    await expect(samples.ask(id)).rejects.toThrow('does not answer');
    await live(20);
    expect(await samples.ask(id)).toHaveLength(1);
    await live(20);
    expect(await samples.ask(id)).toHaveLength(6);
  });

  it('is measured once for all who ask at the same time', async () => {
    const { clock, samples, live } = start();
    const answers = await Promise.all([samples.ask(id), samples.ask(id)]);
    expect(answers.every((answer) => answer.length > 0)).toBe(true);
    expect(clock.pending).toBe(1);
    await live(5);
    expect(await samples.ask(id)).toHaveLength(3);
  });

  it('is kept for sixty samples', async () => {
    const { samples, live } = start();
    for (let minute = 0; minute < 10; minute += 1) {
      await samples.ask(id);
      await live(50);
    }
    expect(await samples.ask(id)).toHaveLength(61);
  });
});
