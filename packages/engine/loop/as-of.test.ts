import { describe, expect, it } from 'vitest';
import type { Forge } from '../source/forge.ts';
import { EngineHarness, shop } from './engine-harness.fake.ts';

/** A harness whose forge notes as of when it was asked. */
const watch = (): { readonly harness: EngineHarness; readonly takeAsked: () => readonly (number | undefined)[] } => {
  const harness = new EngineHarness().start();
  const asked: (number | undefined)[] = [];
  const forge: Forge = harness.forge;
  const read = forge.sources.bind(forge);
  forge.sources = (signal, asOf) => {
    asked.push(asOf);
    return read(signal);
  };
  return { harness, takeAsked: () => asked.splice(0) };
};

describe('a look at a project', () => {
  it('is content in a pass with what was so when the pass began', async () => {
    const { harness, takeAsked } = watch();
    harness.push('preview/login');
    await harness.live(60);
    takeAsked();
    const before = harness.clock.now();
    harness.engine.wakeAll();
    await harness.engine.idle();
    expect(takeAsked()).toEqual([before]);
  });

  it('reads everything afresh when somebody says that something happened', async () => {
    const { harness, takeAsked } = watch();
    await harness.live(60);
    takeAsked();
    harness.engine.wakeProject(shop);
    await harness.engine.idle();
    expect(takeAsked()).toEqual([undefined]);
  });

  it('reads everything afresh when both come at once', async () => {
    const { harness, takeAsked } = watch();
    await harness.live(60);
    takeAsked();
    harness.engine.wakeAll();
    harness.engine.wakeProject(shop);
    await harness.engine.idle();
    const asked = takeAsked();
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.every((asOf) => asOf === undefined)).toBe(true);
  });
});
