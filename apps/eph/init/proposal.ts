import { dnsLabel } from '@eph/contract';
import type { Choice, Prompter } from '../prompter.ts';
import { quote, type Step } from './detector.ts';
import type { Discovery } from './discovery.ts';
import type { Manifest } from './find-manifests.ts';
import { addressVariable, type ServiceCandidate, serveFiles } from './find-services.ts';

export interface Proposal {
  readonly name: string;
  readonly branches: string;
  readonly runner: Runner;
}

export type Runner =
  | {
      readonly provider: 'process';
      /** For `sh`, in the root; empty if nothing comes before the services. */
      readonly prepare: string;
      readonly services: readonly ProposedService[];
      /** Of the entry service; empty if an open port is enough. */
      readonly readyPath: string;
    }
  | { readonly provider: 'docker-compose'; readonly composeFiles: readonly string[] }
  | { readonly provider: 'kubernetes'; readonly manifest: Manifest };

export interface ProposedService extends Pick<ServiceCandidate, 'name' | 'directory' | 'command' | 'listens' | 'knowsPort'> {
  readonly comment: string;
  readonly entry: boolean;
  /** Addresses of other services, by variable. */
  readonly env: Readonly<Record<string, string>>;
}

/** Nothing in `eph.yaml` is a secret. */
type Proposer = Omit<Prompter, 'secret'>;

export const defaultsPrompter: Proposer = {
  text: async ({ proposal }) => proposal,
  choose: async ({ choices }) => choices[0]?.value ?? '',
  chooseSeveral: async ({ choices }) => choices.map(({ value }) => value),
  confirm: async () => true,
};

/** Asks only what the files do not say. */
export const propose = async (prompter: Proposer, discovery: Discovery): Promise<Proposal> => {
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

const proposeRunner = async (prompter: Proposer, discovery: Discovery): Promise<Runner> => {
  const { services, areGuessed, deployments } = discovery;
  const { composeFiles, manifests } = deployments;
  const processes = {
    value: 'process',
    label: 'process',
    hint: services[0] === undefined ? 'runs a command' : `from ${services[0].file}`,
  };
  const choices: readonly Choice[] = [
    ...(areGuessed ? [] : [processes]),
    ...(composeFiles.length > 0 ? [{ value: 'docker-compose', label: 'docker-compose', hint: composeFiles.join(', ') }] : []),
    ...(manifests.length > 0 ? [{ value: 'kubernetes', label: 'kubernetes', hint: manifests[0]?.path || 'this folder' }] : []),
    ...(areGuessed ? [processes] : []),
  ];
  const provider =
    choices.length > 1 ? await prompter.choose({ message: 'Which provider runs the environments?', choices }) : 'process';
  if (provider === 'docker-compose') return { provider, composeFiles };
  if (provider === 'kubernetes') return { provider, manifest: await chooseManifest(prompter, manifests) };
  return proposeProcess(prompter, services);
};

const chooseManifest = async (prompter: Proposer, manifests: readonly Manifest[]): Promise<Manifest> => {
  const choices = manifests.map(({ kind, path }) => ({ value: path, label: path || 'this folder', hint: kind }));
  const chosen =
    choices.length > 1
      ? await prompter.choose({ message: 'Which of these describes an environment?', choices })
      : choices[0]?.value;
  return manifests.find(({ path }) => path === chosen) ?? { kind: 'manifests', path: '' };
};

const proposeProcess = async (prompter: Proposer, found: readonly ServiceCandidate[]): Promise<Runner> => {
  const chosen = found.length > 0 ? await chooseServices(prompter, found) : [await askCommand(prompter)];
  const entry = await chooseEntry(prompter, chosen);
  const readyPath = await prompter.text({
    message: 'Which path answers when the service is ready, such as /healthz? Leave it empty if an open port is enough.',
    proposal: '',
    validate: (answer) => (/^(\/[!-~]*)?$/.test(answer) ? undefined : 'Begin with a slash, or leave it empty.'),
  });
  const services = chosen.map((service) => toProposed(service, chosen, entry));
  return { provider: 'process', prepare: joinSteps(chosen.flatMap(({ steps }) => steps)), services, readyPath };
};

/** Each step once: services may need the same packages. */
const joinSteps = (steps: readonly Step[]): string =>
  [
    ...new Set(steps.map(({ directory, command }) => (directory === '' ? command : `(cd ${quote(directory)} && ${command})`))),
  ].join(' && ');

const chooseServices = async (prompter: Proposer, found: readonly ServiceCandidate[]): Promise<readonly ServiceCandidate[]> => {
  if (found.length === 1) return found;
  const choices = found.map(({ name, file, why }) => ({ value: name, label: name, hint: `${file}: ${why}` }));
  const names = await prompter.chooseSeveral({ message: 'Which of these belong in an environment?', choices });
  return found.filter(({ name }) => names.includes(name));
};

const chooseEntry = async (prompter: Proposer, chosen: readonly ServiceCandidate[]): Promise<string | undefined> => {
  const listening = chosen.filter(({ listens }) => listens).toSorted((a, b) => Number(showsPages(b)) - Number(showsPages(a)));
  const choices = listening.map(({ name, file }) => ({ value: name, label: name, hint: file }));
  return choices.length > 1 ? prompter.choose({ message: 'Which service gets the traffic?', choices }) : choices[0]?.value;
};

/** People open these; the others answer to programs. */
const showsPages = ({ name }: ServiceCandidate): boolean => /^(?:web|www|site|frontend|client|ui|app)$/.test(name);

const askCommand = async (prompter: Proposer): Promise<ServiceCandidate> => {
  const command = await prompter.text({
    message: 'Which command starts it? The port to listen on is in $PORT.',
    proposal: serveFiles,
    validate: (answer) => (answer.trim() === '' ? 'Give a command.' : undefined),
  });
  const why = command === serveFiles ? 'no start command was found; this only serves the files' : '';
  const common = { name: 'web', file: '', directory: '', steps: [], listens: true, addresses: [] };
  return { ...common, why, command, knowsPort: /\bPORT\b/.test(command) };
};

const toProposed = (service: ServiceCandidate, all: readonly ServiceCandidate[], entry: string | undefined): ProposedService => {
  const { name, directory, command, listens, knowsPort, addresses } = service;
  // Only the entry gets addresses: services that refer to each other could not be started.
  const others = all.filter((one) => name === entry && one.name !== name && addresses.includes(addressVariable(one.name)));
  return {
    name,
    directory,
    listens,
    knowsPort,
    command,
    comment: [service.file, service.why].filter(Boolean).join(': '),
    entry: name === entry,
    env: Object.fromEntries(others.map((one) => [addressVariable(one.name), `outputs/${one.name}/url`])),
  };
};

/** What was not found, and what to write instead. */
export const describeMissing = ({ runner }: Proposal, { services, missing }: Discovery): readonly string[] => {
  if (runner.provider !== 'process') return [];
  const lost = runner.services.filter(({ listens, knowsPort }) => listens && !knowsPort);
  const isUnknown = services.length === 0 && missing.length === 0;
  return [
    ...(isUnknown ? ['No start command was found. Write one under process.services.web.command.'] : []),
    ...missing,
    ...lost.map(
      ({ name, directory }) =>
        `Nothing in ${directory || 'this folder'} reads PORT. The service ${name} must listen on that port; if its program takes the port as an argument, add it to process.services.${name}.command.`,
    ),
  ];
};
