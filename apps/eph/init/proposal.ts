import { dnsLabel } from '@eph/contract';
import type { Choice, Prompter } from '../prompter.ts';
import type { Discovery } from './discovery.ts';
import type { Manifest } from './find-manifests.ts';
import { type ServiceCandidate, serveFiles } from './find-services.ts';

export interface Proposal {
  readonly name: string;
  readonly branches: string;
  readonly runner: Runner;
}

export type Runner =
  | {
      readonly provider: 'process';
      readonly services: readonly ProposedService[];
      /** Of the entry service; empty if an open port is enough. */
      readonly readyPath: string;
    }
  | { readonly provider: 'docker-compose'; readonly composeFiles: readonly string[] }
  | { readonly provider: 'kubernetes'; readonly manifest: Manifest };

export interface ProposedService extends Pick<ServiceCandidate, 'name' | 'directory' | 'command' | 'listens'> {
  readonly comment: string;
  readonly entry: boolean;
  readonly slow: boolean;
  readonly dependsOn: readonly string[];
}

export const defaultsPrompter: Prompter = {
  text: async ({ proposal }) => proposal,
  choose: async ({ choices }) => choices[0]?.value ?? '',
  chooseSeveral: async ({ choices }) => choices.map(({ value }) => value),
  confirm: async () => true,
};

/** Asks only what the files do not say. */
export const propose = async (prompter: Prompter, discovery: Discovery): Promise<Proposal> => {
  const name = await prompter.text({
    message: 'What is the name of the project? Names of environments begin with it.',
    proposal: discovery.name,
    validate: (answer) =>
      dnsLabel.test(answer) ? undefined : 'Use lower-case letters, digits and dashes, with a letter or digit at both ends.',
  });
  const runner = await proposeRunner(prompter, discovery);
  const branches = await prompter.text({
    message: 'Which branches get an environment? `*` does not match a slash, `**` does.',
    proposal: 'preview/**',
    validate: (answer) => (/^[^\s\p{Cc}[{~^:\\]{1,255}$/u.test(answer) ? undefined : 'Write one pattern, such as preview/**.'),
  });
  return { name, runner, branches };
};

const proposeRunner = async (prompter: Prompter, discovery: Discovery): Promise<Runner> => {
  const { services, deployments } = discovery;
  const { composeFiles, manifests } = deployments;
  const choices: readonly Choice[] = [
    ...(services.length > 0 ? [{ value: 'process', label: 'process', hint: `from ${services[0]?.file}` }] : []),
    ...(composeFiles.length > 0 ? [{ value: 'docker-compose', label: 'docker-compose', hint: composeFiles.join(', ') }] : []),
    ...(manifests.length > 0 ? [{ value: 'kubernetes', label: 'kubernetes', hint: manifests[0]?.path || 'this folder' }] : []),
    ...(services.length > 0 ? [] : [{ value: 'process', label: 'process', hint: 'runs a command' }]),
  ];
  const provider =
    choices.length > 1 ? await prompter.choose({ message: 'Which provider runs the environments?', choices }) : 'process';
  if (provider === 'docker-compose') return { provider, composeFiles };
  if (provider === 'kubernetes') return { provider, manifest: await chooseManifest(prompter, manifests) };
  return proposeProcess(prompter, services);
};

const chooseManifest = async (prompter: Prompter, manifests: readonly Manifest[]): Promise<Manifest> => {
  const choices = manifests.map(({ kind, path }) => ({ value: path, label: path || 'this folder', hint: kind }));
  const chosen =
    choices.length > 1
      ? await prompter.choose({ message: 'Which of these describes an environment?', choices })
      : choices[0]?.value;
  return manifests.find(({ path }) => path === chosen) ?? { kind: 'manifests', path: '' };
};

const proposeProcess = async (prompter: Prompter, found: readonly ServiceCandidate[]): Promise<Runner> => {
  const chosen = found.length > 0 ? await chooseServices(prompter, found) : [await askCommand(prompter)];
  const entry = await chooseEntry(prompter, chosen);
  const readyPath = await prompter.text({
    message: 'Which path answers when the service is ready, such as /healthz? Leave it empty if an open port is enough.',
    proposal: '',
    validate: (answer) => (/^(\/[!-~]*)?$/.test(answer) ? undefined : 'Begin with a slash, or leave it empty.'),
  });
  return { provider: 'process', services: chosen.map((service) => toProposed(service, chosen, entry)), readyPath };
};

const chooseServices = async (prompter: Prompter, found: readonly ServiceCandidate[]): Promise<readonly ServiceCandidate[]> => {
  if (found.length === 1) return found;
  const choices = found.map(({ name, file, why }) => ({ value: name, label: name, hint: `${file}: ${why}` }));
  const names = await prompter.chooseSeveral({ message: 'Which of these belong in an environment?', choices });
  return found.filter(({ name }) => names.includes(name));
};

const chooseEntry = async (prompter: Prompter, chosen: readonly ServiceCandidate[]): Promise<string | undefined> => {
  const choices = chosen.filter(({ listens }) => listens).map(({ name, file }) => ({ value: name, label: name, hint: file }));
  return choices.length > 1 ? prompter.choose({ message: 'Which service gets the traffic?', choices }) : choices[0]?.value;
};

const askCommand = async (prompter: Prompter): Promise<ServiceCandidate> => {
  const command = await prompter.text({
    message: 'Which command starts it? The port to listen on is in $PORT.',
    proposal: serveFiles,
    validate: (answer) => (answer.trim() === '' ? 'Give a command.' : undefined),
  });
  const why = 'no start command was found; this only serves the files';
  return { name: 'web', file: '', why: command === serveFiles ? why : '', directory: '', command, listens: true };
};

/** The first service that needs a folder of packages installs it, and the others depend on that service. */
const toProposed = (service: ServiceCandidate, all: readonly ServiceCandidate[], entry: string | undefined): ProposedService => {
  const { name, directory, command, listens, install, slow = false } = service;
  const installer = install === undefined ? undefined : all.find((one) => one.install?.into === install.into);
  const installs = install !== undefined && installer?.name === name;
  return {
    name,
    directory,
    listens,
    command: installs && typeof command === 'string' ? `${install.command} && ${command}` : command,
    comment: [service.file, service.why].filter(Boolean).join(': '),
    entry: name === entry,
    slow: slow || installs,
    dependsOn: installer === undefined || installs ? [] : [installer.name],
  };
};
