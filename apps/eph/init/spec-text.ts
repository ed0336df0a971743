import { safeJson, safeLine } from '../safe-text.ts';
import type { Discovery } from './discovery.ts';
import type { Manifest } from './find-manifests.ts';
import type { Proposal, ProposedService, Runner } from './proposal.ts';

/** With comments for people who see an `eph.yaml` for the first time. */
export const printSpec = ({ name, branches, runner }: Proposal, { services, deployments }: Discovery): string => {
  const others = describeOthers(runner, services.length > 0, deployments);
  return `${[
    '# What runs in a temporary environment of this repository. ephd reads it from every commit.',
    'version: "1.0"',
    `name: ${scalar(name)}`,
    '',
    `# ${providerComments[runner.provider]}`,
    ...(others.length === 0 ? [] : [`# Also possible here: ${safeLine(others.join(', '))}.`]),
    'providers:',
    `  primary: ${runner.provider}`,
    '',
    '# Every branch that matches gets an environment for as long as it exists.',
    'triggers:',
    '  - type: git_branch',
    `    patterns: [${safeJson(branches)}]`,
    '',
    ...printRunner(runner),
  ].join('\n')}\n`;
};

const providerComments: Readonly<Record<Runner['provider'], string>> = {
  process: 'Processes on the machine of ephd.',
  'docker-compose': 'Services from Compose files. Images come from a registry: your build system creates them, not Eph.',
  kubernetes: 'Manifests for a cluster. Images come from a registry: your build system creates them, not Eph.',
};

const describeOthers = (
  runner: Runner,
  canBeProcess: boolean,
  { composeFiles, manifests }: Discovery['deployments'],
): readonly string[] => [
  ...(runner.provider === 'process' || !canBeProcess ? [] : ['process']),
  ...(runner.provider === 'docker-compose' || composeFiles.length === 0
    ? []
    : [`docker-compose (${composeFiles.join(' and ')})`]),
  ...(runner.provider === 'kubernetes' || manifests.length === 0 ? [] : [`kubernetes (${manifests[0]?.path || '.'})`]),
];

const printRunner = (runner: Runner): readonly string[] => {
  switch (runner.provider) {
    case 'process':
      return [
        'process:',
        ...(runner.prepare === ''
          ? []
          : ['  # Runs once for each commit, before the services.', `  prepare: ${scalar(runner.prepare)}`]),
        '  services:',
        ...runner.services.flatMap((service) => printService(service, runner.readyPath)),
      ];
    case 'docker-compose':
      return ['docker-compose:', '  compose_files:', ...runner.composeFiles.map((file) => `    - ${scalar(file)}`)];
    case 'kubernetes':
      return ['kubernetes:', '  manifests:', ...printManifest(runner.manifest)];
  }
};

const printManifest = ({ kind, path }: Manifest): readonly string[] => {
  const folder = scalar(path === '' ? '.' : `./${path}`);
  return [`    - ${kind === 'manifests' ? 'path' : kind}: ${folder}`];
};

const printService = (service: ProposedService, readyPath: string): readonly string[] => {
  const { name, directory, command, comment, listens, knowsPort, entry, env } = service;
  const addresses = Object.entries(env).map(([variable, value]) => `${variable}: ${value}`);
  const ready = [...(entry && readyPath !== '' ? [`http: ${safeJson(readyPath)}`] : []), ...(listens ? [] : ['none: true'])];
  return [
    ...(comment === '' ? [] : [`    # ${safeLine(comment)}`]),
    `    ${name}:`,
    ...(listens && !knowsPort ? ['      # Must listen on the port in $PORT.'] : []),
    `      command: ${typeof command === 'string' ? scalar(command) : safeJson(command)}`,
    ...(directory === '' ? [] : [`      directory: ${scalar(directory)}`]),
    ...(entry ? ['      entry: true'] : []),
    ...(ready.length === 0 ? [] : [`      ready: { ${ready.join(', ')} }`]),
    ...(addresses.length === 0 ? [] : [`      env: { ${addresses.join(', ')} }`]),
  ];
};

/** Unquoted if unambiguous, otherwise JSON, which is valid YAML. */
const scalar = (text: string): string =>
  /^[A-Za-z./][\w./ &=$-]*$/.test(text) && !/ $|^(true|false|null|yes|no|on|off|y|n)$/i.test(text) ? text : safeJson(text);
