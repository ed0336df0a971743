import { type Deployments, findDeployments } from './find-manifests.ts';
import { type FoundServices, findServices } from './find-services.ts';
import { listFolder } from './folder-listing.ts';
import { readRepository } from './project-name.ts';

export interface Discovery extends FoundServices {
  readonly name: string;
  /** Of the repository; undefined outside of Git. */
  readonly root: string | undefined;
  readonly deployments: Deployments;
  /** Not all folders were searched. */
  readonly cut: boolean;
}

/** @param folder an absolute path */
export const discover = async (folder: string): Promise<Discovery> => {
  const [{ name, root }, listing] = await Promise.all([readRepository(folder), listFolder(folder)]);
  const [services, deployments] = await Promise.all([findServices(listing), findDeployments(listing)]);
  return { ...services, name, root, deployments, cut: listing.cut };
};

export interface FoundFile {
  readonly file: string;
  readonly what: string;
}

export const describeFound = ({ services, deployments }: Discovery): readonly FoundFile[] => [
  ...services.map(({ file, why, steps }) => ({ file, what: [why, ...steps.map(({ what }) => what)].join('; ') })),
  ...deployments.composeFiles.map((file) => ({ file, what: 'Compose file' })),
  ...deployments.manifests.map(({ kind, path }) => ({ file: path || '.', what: manifestNouns[kind] })),
  ...deployments.dockerfiles.map((file) => ({ file, what: 'image build; your build system does that' })),
];

const manifestNouns = { kustomization: 'kustomization', chart: 'Helm chart', manifests: 'manifests with workloads' } as const;
