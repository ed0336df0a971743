import type { FolderListing } from './folder-listing.ts';

/** Files for deployment by other providers than `process`. */
export interface Deployments {
  /** Used together, in this order. */
  readonly composeFiles: readonly string[];
  readonly manifests: readonly Manifest[];
  readonly dockerfiles: readonly string[];
}

export interface Manifest {
  readonly kind: 'kustomization' | 'chart' | 'manifests';
  /** The folder; empty for the root. */
  readonly path: string;
}

const mostRead = 100;

export const findDeployments = async (listing: FolderListing): Promise<Deployments> => {
  const kustomizations = foldersWith(listing, /^[Kk]ustomization(\.ya?ml)?$/).toSorted((a, b) => rank(a) - rank(b));
  const charts = foldersWith(listing, /^Chart\.ya?ml$/);
  // Charts inside a chart are parts of it.
  const wholeCharts = charts.filter((path) => !charts.some((other) => other !== path && isWithin(path, other)));
  const plain = await findPlainManifests(listing, [...kustomizations, ...charts]);
  return {
    composeFiles: chooseComposeFiles(listing),
    manifests: [
      ...kustomizations.map((path): Manifest => ({ kind: 'kustomization', path })),
      ...wholeCharts.map((path): Manifest => ({ kind: 'chart', path })),
      ...plain.map((path): Manifest => ({ kind: 'manifests', path })),
    ],
    dockerfiles: listing.files.filter((file) => /^(Dockerfile|Containerfile)(\.[\w-]+)?$/.test(nameOf(file))),
  };
};

const nameOf = (file: string): string => file.slice(file.lastIndexOf('/') + 1);
const folderOf = (file: string): string => file.slice(0, Math.max(0, file.lastIndexOf('/')));
const isWithin = (path: string, folder: string): boolean => folder === '' || path === folder || path.startsWith(`${folder}/`);

const foldersWith = (listing: FolderListing, name: RegExp): readonly string[] => [
  ...new Set(listing.files.filter((file) => name.test(nameOf(file))).map(folderOf)),
];

/** Overlays for previews first, bases last. */
const rank = (path: string): number => {
  if (/preview|review|ephemeral/i.test(path)) return 0;
  if (/dev|staging|test/i.test(path)) return 1;
  return /(^|\/)(base|components?)(\/|$)/i.test(path) ? 3 : 2;
};

/** In the order of precedence of Compose. */
const composeNames = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml'];

const chooseComposeFiles = ({ files }: FolderListing): readonly string[] => {
  const all = files.filter((file) => /^(docker-)?compose([.-][\w.-]+)?\.ya?ml$/.test(nameOf(file)));
  const [first] = all;
  if (first === undefined) return [];
  // All from one folder, the one nearest to the root.
  const here = all.filter((file) => folderOf(file) === folderOf(first));
  const main = composeNames.map((name) => here.find((file) => nameOf(file) === name)).find((file) => file !== undefined) ?? first;
  const override = here.find((file) => file !== main && /[.-](preview|review)\.ya?ml$/.test(file));
  return override === undefined ? [main] : [main, override];
};

const manifestFolder = /(^|\/)(k8s|kubernetes|kube|deploy|deployment|deployments|manifests)(\/|$)/i;
const workload = /^kind:\s*['"]?(Deployment|StatefulSet|DaemonSet)\b/m;

const findPlainManifests = async (listing: FolderListing, taken: readonly string[]): Promise<readonly string[]> => {
  const candidates = listing.files.filter(
    (file) =>
      /\.ya?ml$/.test(file) && manifestFolder.test(folderOf(file)) && !taken.some((folder) => isWithin(folderOf(file), folder)),
  );
  const folders = new Set<string>();
  for (const file of candidates.slice(0, mostRead)) {
    if (folders.has(folderOf(file))) continue;
    if (workload.test(await listing.read(file))) folders.add(folderOf(file));
  }
  return [...folders];
};
