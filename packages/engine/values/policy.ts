import { type ErrorCode, type Policy, parseQuantity, printDuration } from '@eph/contract';
import { hostOf, imageRepository, isInRegistry, isUnderHost } from './allow-lists.ts';
import { allowsObject } from './object-kinds.ts';
import { clip } from './references.ts';

export interface Stated<T> {
  /** Such as `environment.ttl` or `web.replicas`. */
  readonly path: string;
  readonly value: T;
  /** Another name of the same thing: a limit that allows it allows this. */
  readonly alias?: string | undefined;
  /** What is shown instead of the value: an address may hold a password. */
  readonly shown?: string | undefined;
  /** `eph.yaml:12`. Asked only when a limit is broken. */
  readonly where?: (() => string | undefined) | undefined;
}

export interface ComponentFacts {
  readonly name: string;
  readonly kind?: Stated<string> | undefined;
  /** How many copies there can be: asked for, and the ends of a scale that follows the load. */
  readonly replicas: readonly Stated<number>[];
  /** Requests and limits of one copy, as amounts. */
  readonly cpu: readonly Stated<string>[];
  readonly memory: readonly Stated<string>[];
}

/** What a policy can limit. What is left out breaks no limit. */
export interface PolicyFacts {
  readonly ttl?: Stated<number> | undefined;
  readonly idleTimeout?: Stated<number> | undefined;
  readonly hooks?: readonly Stated<number>[] | undefined;
  readonly providers?: readonly Stated<string>[] | undefined;
  readonly images?: readonly Stated<string>[] | undefined;
  /** Kinds of objects, such as `Deployment.apps`. */
  readonly objects?: readonly Stated<string>[] | undefined;
  readonly hosts?: readonly Stated<string>[] | undefined;
  /** Addresses of services elsewhere. */
  readonly endpoints?: readonly Stated<string>[] | undefined;
  readonly components?: readonly ComponentFacts[] | undefined;
  /** How many there are besides this one. Left out for one that exists, so that a lower limit removes nothing. */
  readonly environments?: { readonly project: number; readonly team?: number | undefined; readonly cluster: number } | undefined;
}

export interface Violation {
  readonly code: Extract<ErrorCode, 'policy.exceeded' | 'policy.full'>;
  /** The path of the limit, such as `environments.per_team`. */
  readonly limit: string;
  readonly message: string;
}

/** Every limit that is broken, of every policy. */
export const checkPolicy = (policies: readonly Policy[], facts: PolicyFacts): readonly Violation[] => {
  const violations = policies.flatMap((policy) => [
    ...checkDurations(policy, facts),
    ...checkComponents(policy, facts.components ?? []),
    ...checkLists(policy, facts),
    ...checkCounts(policy, facts.environments),
  ]);
  // A value that many components share is one mistake.
  return [...new Map(violations.map((violation) => [violation.message, violation])).values()];
};

/** What was asked for or the limit, whichever is less; the limit where nothing was asked for. */
export const limitDuration = (
  policies: readonly Policy[],
  limit: 'max_ttl' | 'max_idle_timeout' | 'hook_timeout',
  seconds: number | undefined,
): number | undefined => {
  const all = [seconds, ...policies.map(({ limits }) => limits[limit])].filter((one) => one !== undefined);
  return all.length === 0 ? undefined : Math.min(...all);
};

const checkDurations = (policy: Policy, facts: PolicyFacts): readonly Violation[] => {
  const { max_ttl, max_idle_timeout, hook_timeout } = policy.limits;
  return [
    ...atMost(policy, ['max_ttl'], max_ttl, present(facts.ttl), printDuration),
    ...atMost(policy, ['max_idle_timeout'], max_idle_timeout, present(facts.idleTimeout), printDuration),
    ...atMost(policy, ['hook_timeout'], hook_timeout, facts.hooks ?? [], printDuration),
  ];
};

const present = <T>(stated: T | undefined): readonly T[] => (stated === undefined ? [] : [stated]);

const checkComponents = (policy: Policy, components: readonly ComponentFacts[]): readonly Violation[] => [
  ...components.flatMap(({ replicas }) => atMost(policy, ['replicas'], policy.limits.replicas, replicas, String)),
  ...checkResource(policy, components, 'cpu'),
  ...checkResource(policy, components, 'memory'),
];

const checkResource = (
  policy: Policy,
  components: readonly ComponentFacts[],
  resource: 'cpu' | 'memory',
): readonly Violation[] => {
  const { per_component, per_environment } = policy.limits.resources ?? {};
  const [each, all] = [per_component?.[resource], per_environment?.[resource]];
  const single = components.flatMap((component) =>
    component[resource].filter(({ value }) => each !== undefined && exceeds(parseQuantity(value), parseQuantity(each))),
  );
  const sum = components.reduce((total, component) => total + wholeAmount(component, resource), 0);
  const sentence = `all components together ask for ${printAmount(sum, resource)} of ${resource}`;
  return [
    ...single.map((stated) =>
      broken(policy, ['resources', 'per_component', resource], each ?? '', isValue(stated, stated.value)),
    ),
    ...(all !== undefined && exceeds(sum, parseQuantity(all))
      ? [broken(policy, ['resources', 'per_environment', resource], all, sentence)]
      : []),
  ];
};

/** What all copies can take; nothing for a component that asks for nothing. */
const wholeAmount = ({ replicas, ...component }: ComponentFacts, resource: 'cpu' | 'memory'): number => {
  const most = Math.max(0, ...component[resource].map(({ value }) => parseQuantity(value) ?? 0));
  return most * (replicas.length === 0 ? 1 : Math.max(...replicas.map(({ value }) => value)));
};

/** In binary fractions, three times 100m is a little more than 300m. */
const exceeds = (amount: number | undefined, limit: number | undefined): boolean =>
  amount !== undefined && limit !== undefined && amount > limit * (1 + 1e-9);

const printAmount = (amount: number, resource: 'cpu' | 'memory'): string => {
  if (resource === 'cpu') return Number.isInteger(amount) ? String(amount) : `${Math.round(amount * 1000)}m`;
  const [unit, size] = units.find(([, one]) => amount >= one) ?? ['', 1];
  return `${Number((amount / size).toFixed(2))}${unit}`;
};

const units = [
  ['Ti', 2 ** 40],
  ['Gi', 2 ** 30],
  ['Mi', 2 ** 20],
  ['Ki', 2 ** 10],
] as const;

const checkLists = (policy: Policy, facts: PolicyFacts): readonly Violation[] => {
  const { registries, providers, kinds, objects, hosts } = policy.limits;
  const kindsUsed = (facts.components ?? []).flatMap(({ kind }) => present(kind));
  return [
    ...among(policy, 'registries', registries, facts.images, isInRegistry, (image) => imageRepository(image) !== undefined),
    ...among(policy, 'providers', providers, facts.providers, isSame),
    ...among(policy, 'kinds', kinds, kindsUsed, isSame),
    ...among(policy, 'objects', objects, facts.objects, allowsObject),
    ...among(policy, 'hosts', hosts, facts.hosts, isUnderHost),
    ...among(policy, 'hosts', hosts, facts.endpoints, (address, pattern) => isUnderHost(hostOf(address) ?? '', pattern)),
  ];
};

const isSame = (value: string, allowed: string): boolean => value === allowed;

const among = (
  policy: Policy,
  limit: 'registries' | 'providers' | 'kinds' | 'objects' | 'hosts',
  allowed: readonly string[] | undefined,
  facts: readonly Stated<string>[] = [],
  matches: (value: string, allowed: string) => boolean,
  isClear: (value: string) => boolean = () => true,
): readonly Violation[] => {
  if (allowed === undefined) return [];
  const wrong = facts.filter(({ value, alias = value }) => !allowed.some((one) => matches(value, one) || matches(alias, one)));
  return wrong.map((stated) => {
    const doubt = isClear(stated.value) ? '' : ', which cannot be understood';
    return broken(policy, [limit], printList(allowed), isValue(stated, (stated.shown ?? clip(stated.value)) + doubt));
  });
};

const checkCounts = (policy: Policy, environments: PolicyFacts['environments']): readonly Violation[] => {
  const scopes = ['project', 'team', 'cluster'] as const;
  return scopes.flatMap((scope): readonly Violation[] => {
    const [limit, there] = [policy.limits.environments?.[`per_${scope}`], environments?.[scope]];
    if (limit === undefined || there === undefined || there < limit) return [];
    const sentence = `the ${scope} has ${there} ${there === 1 ? 'environment' : 'environments'} already`;
    const { message, ...rest } = broken(policy, ['environments', `per_${scope}`], String(limit), sentence);
    return [{ ...rest, code: 'policy.full', message: `${message}; remove one, or have the limit raised` }];
  });
};

const atMost = (
  policy: Policy,
  path: readonly string[],
  limit: number | undefined,
  facts: readonly Stated<number>[],
  print: (value: number) => string,
): readonly Violation[] => {
  if (limit === undefined) return [];
  return facts
    .filter(({ value }) => value > limit)
    .map((stated) => broken(policy, path, print(limit), isValue(stated, print(stated.value))));
};

const isValue = ({ path, where }: Stated<unknown>, value: string): string => {
  const place = where?.();
  return `${path} is ${value}${place === undefined ? '' : ` (${place})`}`;
};

const broken = (policy: Policy, path: readonly string[], limit: string, sentence: string): Violation => {
  const { setBy, commit } = policy;
  const line = policy.placeOf(path)?.line;
  const owner = `${setBy}${line === undefined ? '' : `:${line}`}${commit === null ? '' : ` at ${commit.slice(0, 7)}`}`;
  const name = path.join('.');
  return { code: 'policy.exceeded', limit: name, message: `${sentence}; the limit ${name} is ${limit}, set by ${owner}` };
};

const printList = (allowed: readonly string[]): string => {
  const more = allowed.length - 10;
  return allowed.slice(0, 10).join(', ') + (more > 0 ? ` and ${more} more` : '');
};
