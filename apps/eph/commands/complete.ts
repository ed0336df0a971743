import { setTimeout as sleep } from 'node:timers/promises';
import { describeSource, phases } from '@eph/contract';
import type { Askable, ReadLine } from '../completion/command-tree.ts';
import type { Context } from '../context.ts';
import { findNamedOrCurrent } from '../find-current-environment.ts';
import { listProjects } from '../list-projects.ts';
import { safeLine } from '../safe-text.ts';

type Candidate = readonly [value: string, description: string];

/** Nobody waits longer for a key. */
const patienceMs = 900;

/**
 * Prints what the word could become, each with a tab and a description. A shell shows errors in the middle of what somebody types, so there
 * are none.
 */
export const complete = async (context: Context, what: Askable, line: ReadLine, word: string): Promise<void> => {
  const late = new AbortController();
  const nothing = sleep(patienceMs, [], late).catch(() => []);
  const found = await Promise.race([candidates[what](context, line, word).catch(() => []), nothing]);
  late.abort();
  await context.out.lines(found.filter(([value]) => isPlain(value)).map(([value, about]) => `${value}\t${safeLine(about)}`));
};

/** The shell inserts it as it is, and names are untrusted. */
const isPlain = (value: string): boolean => /^\w[\w./@+-]*$/.test(value);

const candidates: Readonly<Record<Askable, (context: Context, line: ReadLine, word: string) => Promise<readonly Candidate[]>>> = {
  async environments({ client }, _, word) {
    const query = { limit: 1000, fields: ['name', 'phase', 'source'] as const, text: word === '' ? undefined : word };
    const { environments } = await client.listEnvironments({ query });
    return environments.map(({ name = '', phase = '', source }) => [
      name,
      `${phase}${source === undefined ? '' : `, ${describeSource(source)}`}`,
    ]);
  },
  async projects({ client }) {
    return (await listProjects(client)).map(({ id, location }) => [id, location]);
  },
  async components(context, { operands: [environment] }) {
    const { components } = await findNamedOrCurrent(context, environment);
    return components.map(({ name, provider, current }) => [name, `${provider}, ${current?.health ?? 'absent'}`]);
  },
  async phases() {
    return phases.map((phase) => [phase, '']);
  },
};
