import { delimiter } from 'node:path';
import type { Environment } from './find-program.ts';
import { findGoProgram, type GoProgram, getGoPrograms } from './go-module.ts';
import type { Finding } from './part.ts';

type Progress = (line: string) => void;

const version = '1.36.3';

const kubernetes = (program: string, versionFlag = '--version'): GoProgram => ({
  program,
  module: 'k8s.io/kubernetes',
  version,
  sum: 'h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o=',
  package: `k8s.io/kubernetes/cmd/${program}`,
  tags: [],
  variables: {
    'k8s.io/component-base/version.gitVersion': `v${version}`,
    'k8s.io/component-base/version.gitMajor': '1',
    'k8s.io/component-base/version.gitMinor': '36',
  },
  needsC: false,
  data: [],
  versionFlag,
  siblings: '0.36.3',
});

export const controlPlane = {
  apiServer: kubernetes('kube-apiserver'),
  controllerManager: kubernetes('kube-controller-manager'),
  scheduler: kubernetes('kube-scheduler'),
  kubectl: kubernetes('kubectl', 'version --client'),
  etcd: {
    program: 'etcd',
    module: 'go.etcd.io/etcd/server/v3',
    version: '3.6.8',
    sum: 'h1:U2strdSEy1U8qcSzRIdkYpvOPtBy/9i/IfaaCI9flZ4=',
    package: 'go.etcd.io/etcd/server/v3',
    tags: [],
    variables: {},
    needsC: false,
    data: [],
    versionFlag: '--version',
  },
  helm: {
    program: 'helm',
    module: 'helm.sh/helm/v3',
    version: '3.22.0',
    sum: 'h1:n1if5iQgHYsujPAcO5oonH/KiSNUmqmUF0iGVjSF3AU=',
    package: 'helm.sh/helm/v3/cmd/helm',
    tags: [],
    // Charts ask for the version of Kubernetes; without these, it would be 1.20.
    variables: {
      'helm.sh/helm/v3/internal/version.version': 'v3.22.0',
      'helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor': '1',
      'helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor': '36',
      'helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor': '1',
      'helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor': '36',
    },
    needsC: false,
    data: [],
    versionFlag: 'version --short',
  },
} as const satisfies Readonly<Record<string, GoProgram>>;

export const nodePrograms = { kubelet: kubernetes('kubelet'), proxy: kubernetes('kube-proxy') };

/** In the folder that tests of Kubernetes operators also take programs from, on the PATH, or in the parts cache. */
const findKubernetesProgram = (wanted: GoProgram): Finding => findGoProgram(wanted, environment());

const environment = (): Environment => {
  const { PATH = '', KUBEBUILDER_ASSETS: assets = '' } = process.env;
  return assets === '' ? process.env : { ...process.env, PATH: `${assets}${delimiter}${PATH}` };
};

export const locateKubernetesProgram = (wanted: GoProgram): string => {
  const finding = findKubernetesProgram(wanted);
  if (!finding.found) throw new Error(`${wanted.program} is missing: ${finding.reason}`);
  return finding.where;
};

/** Where all of them are, or why one is missing. The version is that of the first. */
export const findKubernetesPrograms = (programs: readonly GoProgram[]): Finding => {
  const findings = programs.map(findKubernetesProgram);
  const [first] = findings;
  return findings.find(({ found }) => !found) ?? first ?? { found: false, reason: 'nothing was looked for' };
};

/** Builds those that are missing. */
export const getKubernetesPrograms = async (
  part: string,
  programs: readonly GoProgram[],
  progress: Progress,
  signal: AbortSignal,
): Promise<void> => {
  const missing = programs.filter((one) => !findKubernetesProgram(one).found);
  for (const [first, ...others] of Map.groupBy(missing, (one) => one.module).values())
    if (first !== undefined) await getGoPrograms(part, [first, ...others], progress, signal);
};
