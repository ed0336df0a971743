import { type ComponentName, closest, componentName, dnsLabel, type ErrorCode } from '@eph/contract';
import { ownValue } from './layers.ts';

/** Names a value that a component has. Outputs are public; all others are private to their environment. */
export type Reference = (Address & { readonly type: 'outputs' }) | PrivateReference;

type PrivateReference =
  | (Address & { readonly type: 'connections' })
  | (Address & { readonly type: 'secrets' | 'configs'; readonly name: string });

interface Address {
  readonly text: string;
  /** Another environment or `platform`. Undefined for this environment, with the platform as the second choice. */
  readonly namespace: string | undefined;
  readonly component: ComponentName;
  readonly key: string;
}

export type ReferenceType = Reference['type'];

export type ParsedText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reference'; readonly reference: Reference }
  | { readonly kind: 'malformed'; readonly fault: string };

const forms: { readonly [type in ReferenceType]: string } = {
  outputs: 'outputs/<component>/<key>',
  connections: 'connections/<component>/<key>',
  secrets: 'secrets/<component>/<secret>, or secrets/<component>/<secret>/<key>',
  configs: 'configs/<component>/<config>, or configs/<component>/<config>/<key>',
};

const beginning = /^(?:(\S*)::)?(outputs|connections|secrets|configs)\/(\S*)$/;

const keyForm = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}$/;

/** A value is a reference only as a whole. What begins like one and is none is a fault; a backslash in front makes text of it. */
export const parseReference = (text: string): ParsedText => {
  const match = beginning.exec(text.startsWith('\\') ? text.replace(/^\\+/, '') : text);
  if (match === null) return { kind: 'text', text };
  if (text.startsWith('\\')) return { kind: 'text', text: text.slice(1) };
  const [, namespace, type, rest] = match as unknown as [string, string | undefined, ReferenceType, string];
  const [component = '', ...path] = rest.split('/');
  const parts = { text, namespace, component, path };
  const fault = findFault(type, parts);
  if (fault === undefined) return { kind: 'reference', reference: toReference(type, parts) };
  const plain = `put a backslash in front if it is plain text: \\${clip(text)}`;
  return { kind: 'malformed', fault: `${clip(text)} is no reference: ${fault}; write ${forms[type]}; ${plain}` };
};

interface Parts {
  readonly text: string;
  readonly namespace: string | undefined;
  readonly component: string;
  readonly path: readonly string[];
}

const hasName = (type: ReferenceType): type is 'secrets' | 'configs' => type === 'secrets' || type === 'configs';

const findFault = (type: ReferenceType, { namespace, component, path }: Parts): string | undefined => {
  if (namespace !== undefined && !dnsLabel.test(namespace)) return `${quote(namespace)} is not the name of an environment`;
  if (!dnsLabel.test(component)) return `${quote(component)} is not the name of a component`;
  const [name = '', ...rest] = path;
  const keys = hasName(type) ? rest : path;
  if (hasName(type) && !dnsLabel.test(name)) return `${quote(name)} is not the name of a ${type.slice(0, -1)}`;
  if (keys.length > 1) return 'it has too many parts';
  if (keys.length === 0 && !hasName(type)) return 'it has no key';
  const wrong = keys.find((key) => !keyForm.test(key));
  return wrong === undefined ? undefined : `${quote(wrong)} is not a key`;
};

const toReference = (type: ReferenceType, { text, namespace, component, path }: Parts): Reference => {
  const address = { text, namespace, component: componentName(component) };
  if (type === 'outputs') return { ...address, type, key: path[0] ?? '' };
  if (type === 'connections') return { ...address, type, key: path[0] ?? '' };
  return { ...address, type, name: path[0] ?? '', key: path[1] ?? 'value' };
};

export type Outputs = { readonly [key: string]: string };
export type PublishedOutputs = { readonly [component: string]: Outputs };

export interface ForeignOutputs {
  readonly outputs: PublishedOutputs;
  /** It refers to this environment, itself or through others: each change of one would change the other, for ever. */
  readonly refersBack?: boolean;
}

/** A private value: its provider gives it to the component, and Eph never has it. */
export type PrivateValue =
  | { readonly secretKeyRef: { readonly component: ComponentName; readonly name: string; readonly key: string } }
  | { readonly configMapKeyRef: { readonly component: ComponentName; readonly name: string; readonly key: string } };

export interface ReferenceContext {
  readonly ownNames: readonly string[];
  readonly components: { has(name: string): boolean; keys(): Iterable<string> };
  outputsOf(component: ComponentName): Outputs;
  readonly platform: PublishedOutputs;
  foreign(namespace: string): ForeignOutputs | undefined;
  /** Who makes a component of this environment. */
  providerOf(component: ComponentName): { readonly name: string; readonly holdsSecrets: boolean } | undefined;
}

export type ResolvedReference =
  /** With the other outputs of the same component. */
  | { readonly state: 'literal'; readonly value: string; readonly outputs: Outputs }
  | { readonly state: 'private'; readonly value: PrivateValue }
  | { readonly state: 'waiting'; readonly reason: string }
  | { readonly state: 'refused'; readonly code: ErrorCode; readonly message: string };

/** Expects a component of this environment to be ready. */
export const resolveReference = (reference: Reference, context: ReferenceContext): ResolvedReference => {
  const { namespace, type } = reference;
  if (namespace !== undefined && context.ownNames.includes(namespace))
    return refused(`${reference.text} names this very environment; write ${localForm(reference)}`);
  if (type !== 'outputs') return resolvePrivate(reference, context);
  if (namespace === undefined) return resolveHere(reference, context);
  if (namespace === 'platform') return pick(reference, context.platform, 'the platform');
  const foreign = context.foreign(namespace);
  if (foreign === undefined) return waiting(reference, describeNamespace(reference, namespace, context));
  if (foreign.refersBack === true)
    return {
      state: 'refused',
      code: 'reference.cycle',
      message: `${reference.text}: environment ${namespace} refers back to this one, so neither could ever come to rest`,
    };
  return pick(reference, foreign.outputs, `environment ${namespace}`);
};

const resolveHere = (reference: Reference, context: ReferenceContext): ResolvedReference => {
  const { component } = reference;
  if (context.components.has(component)) return pickKey(reference, context.outputsOf(component));
  if (ownValue(context.platform, component) !== undefined) return pick(reference, context.platform, 'the platform');
  const names = [...new Set([...context.components.keys(), ...Object.keys(context.platform)])];
  return waiting(
    reference,
    `neither this environment nor the platform has a component ${component}; ${instead(component, names)}`,
  );
};

const resolvePrivate = (reference: PrivateReference, context: ReferenceContext): ResolvedReference => {
  const { component, namespace, type, key } = reference;
  if (namespace !== undefined)
    return refused(
      `${reference.text}: ${type} never leave their namespace, only outputs do; in this environment write ${localForm(reference)}, ` +
        `or let ${namespace} publish an output and write ${namespace}::outputs/${component}/<key>`,
    );
  if (!context.components.has(component))
    return waiting(
      reference,
      `this environment has no component ${component}; ${instead(component, [...context.components.keys()])}`,
    );
  const provider = context.providerOf(component);
  if (provider?.holdsSecrets !== true)
    return waiting(reference, `provider ${provider?.name} holds no ${type === 'configs' ? 'configs' : 'secrets'} yet`);
  const name = `${component}-${type === 'connections' ? 'connection' : reference.name}`;
  const value = { component, name, key };
  return { state: 'private', value: type === 'configs' ? { configMapKeyRef: value } : { secretKeyRef: value } };
};

const pick = (reference: Reference, outputs: PublishedOutputs, owner: string): ResolvedReference => {
  const { component } = reference;
  const published = ownValue(outputs, component);
  if (published !== undefined) return pickKey(reference, published);
  return waiting(reference, `${owner} has no component ${component}; ${instead(component, Object.keys(outputs))}`);
};

const pickKey = (reference: Reference, outputs: Outputs): ResolvedReference => {
  const value = ownValue(outputs, reference.key);
  if (value !== undefined) return { state: 'literal', value, outputs };
  return waiting(reference, `${reference.component} publishes no such output; ${instead(reference.key, Object.keys(outputs))}`);
};

/** Lists no other environments: whoever knows the name of one can reach it. */
const describeNamespace = (reference: Reference, namespace: string, context: ReferenceContext): string => {
  const { component, key } = reference;
  const isHere = context.components.has(component);
  const isPlatform = ownValue(context.platform, component) !== undefined;
  const hint = isHere ? `outputs/${component}/${key}` : isPlatform ? `platform::outputs/${component}/${key}` : undefined;
  const suggestion = hint === undefined ? '' : `; did you mean ${hint}?`;
  return `there is no environment with the name or alias ${namespace}${suggestion}`;
};

const localForm = ({ text, namespace = '' }: Reference): string => text.slice(namespace.length + 2);

const waiting = (reference: Reference, why: string) => ({ state: 'waiting', reason: `${reference.text}: ${why}` }) as const;

const refused = (message: string) => ({ state: 'refused', code: 'reference.refused', message }) as const;

/** What exists instead of what was asked for. */
export const instead = (asked: string, names: readonly string[]): string => {
  const near = closest(asked, names);
  if (near !== undefined) return `did you mean ${JSON.stringify(near)}?`;
  const more = names.length - namesShown;
  return names.length === 0
    ? 'there is none at all'
    : `there is: ${names.slice(0, namesShown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};

const namesShown = 10;

export const clip = (text: string): string => (text.length > 120 ? `${text.slice(0, 119)}…` : text);
const quote = (text: string): string => JSON.stringify(clip(text));
