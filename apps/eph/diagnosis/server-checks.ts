import type { AccountView, ProjectView, ServerView } from '@eph/contract';
import { count } from '../figures.ts';
import { type Check, createCheck } from './check.ts';

/** What ephd says about itself, as checks. */

const seconds = (ms: number): number => Math.round(ms / 1_000);

/**
 * @param date of an answer, without the fraction of its second
 * @param localMs the time here when it was asked, as far as that can be said
 */
export const checkClock = (date: string | undefined, localMs: number): Check => {
  const clock = createCheck('clock');
  const offMs = Date.parse(date ?? '') + 500 - localMs;
  const off = Math.abs(offMs);
  if (Number.isNaN(off))
    return clock.unknown(
      `the answer of ephd has ${date === undefined ? 'no date' : `the date ${JSON.stringify(date)}, which is no time`}`,
      'Compare what `date -u` prints here and on the machine of ephd.',
    );
  if (off <= 5_000) return clock.ok('the same as that of ephd');
  const message = `that of ephd is ${seconds(off)} s ${offMs > 0 ? 'ahead of' : 'behind'} this one`;
  const advice = 'Set both by NTP: tokens and certificates expire by the clock.';
  return off <= 300_000 ? clock.attention(message, advice) : clock.failing(message, advice);
};

const howNames = { file: 'the token file of ephd', token: 'a token', session: 'a session' } as const;

export const checkToken = ({ how, person, scope, projects, expiresAt, now }: AccountView): Check => {
  const token = createCheck('token');
  const limits = projects === null ? '' : `, for ${projects.join(', ')}`;
  const message = `${howNames[how]}${person === null ? '' : ` of ${person}`}, scope ${scope}${limits}`;
  if (expiresAt === null) return token.ok(message);
  const days = (Date.parse(expiresAt) - Date.parse(now)) / 86_400_000;
  if (days > 7) return token.ok(`${message}, until ${expiresAt}`);
  return token.attention(`${message}, which expires at ${expiresAt}`, 'Ask an admin for a new one.');
};

export const checkVersions = (own: string, { version }: ServerView): Check => {
  const versions = createCheck('versions');
  if (own === version) return versions.ok(`eph and ephd are ${own}`);
  return versions.attention(`eph is ${own}, ephd is ${version}`, 'Use the same version, so that both understand each other.');
};

export const checkLeadership = ({ leadership }: ServerView): Check => {
  const check = createCheck('leadership');
  switch (leadership.state) {
    case 'leading':
      return check.ok('this ephd leads');
    case 'standby':
      return check.attention(`${leadership.holder} leads`, 'Ask that one: this one knows no environments until it leads.');
    case 'degraded':
      return check.failing(leadership.message, 'See to the database; until then nobody else can take over.');
    case 'undecided':
      return check.attention('not decided yet', 'Try again in a moment. If it stays so, see to the database.');
  }
};

export const checkReadiness = ({ waitsFor }: ServerView): Check => {
  const readiness = createCheck('readiness');
  if (waitsFor === null) return readiness.ok('ephd has read all projects once');
  return readiness.attention(
    `ephd waits for ${waitsFor}`,
    'Try again in a moment. If it stays so, `eph projects` and the log of ephd say what keeps it. Until then it removes ' +
      'nothing and may lack environments.',
  );
};

export const checkSandboxes = ({ isolation }: ServerView): readonly Check[] =>
  Object.entries(isolation).map(([provider, found]) => {
    const sandbox = createCheck('sandbox');
    if (found.state === 'trusted')
      return sandbox.attention(
        `provider ${provider} has none: ${found.because}`,
        'Its services run as the user of ephd and can read its files and its token. Run only what you trust, or run ephd ' +
          'as an ordinary user with bubblewrap.',
      );
    const lacks = [found.lacks.network, found.lacks.limits].filter((one) => one !== undefined);
    if (lacks.length === 0) return sandbox.ok(`provider ${provider} has one`);
    return sandbox.attention(
      `provider ${provider} has one, and runs no forks: ${lacks.join('; ')}`,
      'For pull requests from forks, add what is missing (docs/security.md). Everything else runs.',
    );
  });

export const checkProviders = ({ away, isolation }: ServerView): readonly Check[] => {
  const providers = createCheck('providers');
  const silent = Object.entries(away).map(([name, { message }]) =>
    providers.failing(
      `${name} does not answer: ${message}`,
      'Start it again, or correct its settings in the file of ephd. Its environments stay as they are until it answers.',
    ),
  );
  return silent.length > 0 ? silent : [providers.ok(`${count(Object.keys(isolation).length, 'provider')} without a fault`)];
};

export const checkProjects = (projects: readonly ProjectView[]): readonly Check[] => {
  const check = createCheck('projects');
  if (projects.length === 0)
    return [check.attention('there are none that you may see', 'Add one to the file of ephd, or ask an admin for a role.')];
  const others = projects.flatMap(({ id, faults: [fault], read, polling }) => {
    if (fault !== undefined)
      return check.failing(
        `${id}: ${fault.message}`,
        'Check its location, and the token of its forge, in the file of ephd. Nothing of it is removed until it can be read.',
      );
    return read
      ? []
      : check.attention(`${id} has not been read completely yet. ${polling ?? ''}`.trim(), 'Try again in a moment.');
  });
  const fine = projects.length - others.length;
  return [...(fine === 0 ? [] : [check.ok(`${count(fine, 'project')} can be read`)]), ...others];
};

/** Plain Git has none that are worth a remark: it is watched, or read every few seconds. */
export const checkWebhooks = (projects: readonly ProjectView[]): readonly Check[] => {
  const webhooks = createCheck('webhooks');
  const onForges = projects.filter(({ forge }) => forge !== null);
  const silent = onForges.filter((one) => !one.webhooks);
  const advice = 'Set up webhooks as the guide of the forge describes (docs/guides), so that a push is noticed at once.';
  return [
    ...(onForges.length > silent.length ? [webhooks.ok(`of ${count(onForges.length - silent.length, 'project')} arrive`)] : []),
    ...silent.map(({ id, polling }) => webhooks.attention(`of ${id} have not arrived. ${polling ?? ''}`.trim(), advice)),
  ];
};

const fewRequests = 100;

export const checkBudgets = ({ budgets }: ServerView, projects: readonly ProjectView[]): readonly Check[] => {
  const budget = createCheck('forge budget');
  if (budgets.length === 0 && projects.some(({ forge }) => forge !== null))
    return [
      budget.unknown(
        'no forge has said how many requests it allows',
        'Try again after the next reading. Some forges, such as Gitea, never say it.',
      ),
    ];
  return budgets.map(({ forge, account, remaining }) => {
    const message = `${account === '' ? forge : `${forge} (${account})`} allows ${count(remaining, 'more request')}`;
    if (remaining >= fewRequests) return budget.ok(message);
    const advice = 'Set up webhooks, or give ephd fewer repositories with one token: it waits until the forge allows more.';
    return remaining === 0 ? budget.failing(message, advice) : budget.attention(message, advice);
  });
};

export const checkHistory = ({ history: { reachable, buffered, lost, lostAudit, message } }: ServerView): Check => {
  const history = createCheck('history');
  if (!reachable)
    return history.failing(
      `cannot be stored: ${message}; ${count(buffered, 'event')} wait`,
      'See to the database or the disk of ephd. Environments do not depend on it.',
    );
  if (lost + lostAudit === 0) return history.ok('is stored');
  return history.attention(
    `${count(lost, 'event')} and ${count(lostAudit, 'line')} of the audit were lost`,
    'Look for them in the log of ephd.',
  );
};
