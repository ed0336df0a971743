import { Polling } from '../polling/polling.ts';
import { Observer } from '../provider/observe.ts';
import { RenderedFiles } from '../render/rendered-file.ts';
import type { Forge } from '../source/forge.ts';
import type { SpecReader } from '../source/read-spec.ts';
import { SharedValues } from '../values/shared-values.ts';
import { Admission } from './admission.ts';
import type { EngineContext } from './context.ts';
import { CrossReferences } from './cross-references.ts';
import { ImageMemory } from './image-memory.ts';
import { Platform } from './platform.ts';
import { Records } from './records.ts';

/** What the reconcilers share. All of it can be lost at any moment. */
export interface Loop {
  readonly context: EngineContext;
  readonly records: Records;
  readonly observer: Observer;
  readonly platform: Platform;
  readonly polling: Polling;
  readonly references: CrossReferences;
  readonly admission: Admission;
  readonly specs: WeakMap<Forge, SpecReader>;
  readonly files: RenderedFiles;
  readonly values: SharedValues;
  readonly imageMemory: ImageMemory;
  /** Comments whose authors know that they were seen; losing it acknowledges them again. */
  readonly acknowledged: Set<string>;
}

export const createLoop = (context: EngineContext): Loop => {
  const records = new Records();
  return {
    context,
    records,
    observer: new Observer([...context.providers.values()], (ms, callback) => context.clock.after(ms, callback)),
    platform: new Platform(context, records),
    polling: new Polling(
      (id) => context.projects.get(id)?.limit,
      () => context.clock.now(),
      context.random,
    ),
    references: new CrossReferences(records, context.ownerOf),
    admission: new Admission(records, (project) => context.projects.get(project)?.team),
    specs: new WeakMap(),
    files: new RenderedFiles(),
    values: new SharedValues(),
    imageMemory: new ImageMemory(),
    acknowledged: new Set(),
  };
};
