import { commitSha, componentName, projectId, type Source, type WantedImage } from '@eph/contract';
import type { ImageRequest } from './resolver.ts';

export const firstCommit = commitSha('1111111aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa');
export const secondCommit = commitSha('2222222bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb');

/** The entry of `environment.images` that most tests are about. */
export const createWantedImage = (changes: Partial<WantedImage> = {}): WantedImage => ({
  name: 'api',
  isOnly: true,
  repository: 'registry.example/acme/api',
  whenMissing: 'fail',
  requiredLabels: {},
  followsTag: false,
  ...changes,
});

/** Somebody asks for the image of a commit, and nothing about it is special. */
export const createImageRequest = (
  image: Partial<WantedImage> = {},
  changes: Partial<ImageRequest> & { readonly commit?: Source['commit'] } = {},
): ImageRequest => {
  const { commit = firstCommit, ...others } = changes;
  return {
    source: { project: projectId('shop'), ref: { kind: 'branch', name: 'preview/a' }, commit },
    component: componentName('web'),
    image: createWantedImage({ tag: { text: `build-${commit.slice(0, 7)}` }, ...image }),
    running: [],
    times: () => Promise.resolve({ requestedAt: 0, committedAt: 0, seenAt: 0 }),
    command: undefined,
    checks: () => Promise.resolve([]),
    isAllowed: () => true,
    ...others,
  };
};
