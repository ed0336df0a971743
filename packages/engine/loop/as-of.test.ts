import { describe, expect, it } from 'vitest';
import type { Forge } from '../source/forge.ts';
import { EngineHarness, shop } from './engine-harness.fake.ts';

/** A town whose forge notes as of when it was asked. */
const watch = (): { readonly town: EngineHarness; readonly takeAsked: () => readonly (number | undefined)[] } => {
  const town = new EngineHarness().start();
  const asked: (number | undefined)[] = [];
  const forge: Forge = town.forge;
  const read = forge.sources.bind(forge);
  forge.sources = (signal, asOf) => {
    asked.push(asOf);
    return read(signal);
  };
  return { town, takeAsked: () => asked.splice(0) };
};

describe('a look at a project', () => {
  it('is content in a pass with what was so when the pass began', async () => {
    const { town, takeAsked } = watch();
    town.push('preview/login');
    await town.live(60);
    takeAsked();
    const before = town.clock.now();
    town.engine.wakeAll();
    await town.engine.idle();
    expect(takeAsked()).toEqual([before]);
  });

  it('reads everything afresh when somebody says that something happened', async () => {
    const { town, takeAsked } = watch();
    await town.live(60);
    takeAsked();
    town.engine.wakeProject(shop);
    await town.engine.idle();
    expect(takeAsked()).toEqual([undefined]);
  });

  it('reads everything afresh when both come at once', async () => {
    const { town, takeAsked } = watch();
    await town.live(60);
    takeAsked();
    town.engine.wakeAll();
    town.engine.wakeProject(shop);
    await town.engine.idle();
    const asked = takeAsked();
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.every((asOf) => asOf === undefined)).toBe(true);
  });
});
