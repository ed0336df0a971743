import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectId } from '@eph/contract';
import { describeForge, type ForgeHarness } from '@eph/engine/source/forge.contract';
import { describe } from 'vitest';
import { createGitForge } from './git-forge.ts';
import { HttpOrigin } from './http-origin.fake.ts';
import { Origin } from './origin.fake.ts';

const overOrigin = (origin: Origin, location: string): ForgeHarness => {
  const forge = createGitForge({ project: projectId('shop'), location, folder: join(origin.folder, 'data') });
  return {
    forge,
    push: (ref, files) => origin.push(ref, files),
    annotate: (tag, commit) => origin.annotate(tag, commit),
    delete: (ref) => origin.delete(ref),
    writeNotes: (notes, texts, fanOut) => origin.writeNotes(notes, texts, fanOut),
    deleteNotes: (notes) => origin.deleteNotes(notes),
    disconnect: () => origin.hide(),
    reconnect: () => origin.unhide(),
    async [Symbol.asyncDispose]() {
      await forge[Symbol.asyncDispose]();
      await origin[Symbol.asyncDispose]();
    },
  };
};

describe('a bare repository of this machine', () => {
  describeForge({ notices: true }, async () => {
    const origin = await Origin.create();
    return overOrigin(origin, origin.path);
  });
});

describe('a working copy of this machine', () => {
  describeForge({ notices: true }, async () => {
    const origin = await Origin.create({ bare: false });
    return overOrigin(origin, origin.path);
  });
});

describe('a repository behind a file address', () => {
  describeForge({ notices: false }, async () => {
    const origin = await Origin.create();
    return overOrigin(origin, pathToFileURL(origin.path).href);
  });
});

describe('a repository behind HTTP', () => {
  describeForge({ notices: false }, async () => {
    const origin = await Origin.create();
    const served = await HttpOrigin.serve(origin, { credentials: 'eph:a%secret' });
    const harness = overOrigin(origin, served.url('eph:a%25secret'));
    return {
      ...harness,
      countRequests: () => served.requests.length,
      disconnect: () => {
        served.outage = 503;
        return Promise.resolve();
      },
      reconnect: () => {
        served.outage = undefined;
        return Promise.resolve();
      },
      async [Symbol.asyncDispose]() {
        await harness[Symbol.asyncDispose]();
        await served[Symbol.asyncDispose]();
      },
    };
  });
});
