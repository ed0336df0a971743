declare const brand: unique symbol;

/** A string that only the function of the same name returns, so that ids of different kinds cannot be confused. */
type Brand<Name extends string> = string & { readonly [brand]: Name };

export type ProjectId = Brand<'ProjectId'>;
export type EnvironmentId = Brand<'EnvironmentId'>;
export type EnvironmentName = Brand<'EnvironmentName'>;
export type ComponentName = Brand<'ComponentName'>;
export type ProviderName = Brand<'ProviderName'>;
export type CommitSha = Brand<'CommitSha'>;
export type Revision = Brand<'Revision'>;
export type EventId = Brand<'EventId'>;

/** One DNS label: valid in a host name, as a folder and as a Kubernetes name. */
export const dnsLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export const projectId = (text: string): ProjectId => checked(text, dnsLabel, 'a project') as ProjectId;
export const environmentId = (text: string): EnvironmentId =>
  checked(text, /^[0-9a-f]{16}$/, 'an environment id') as EnvironmentId;
export const environmentName = (text: string): EnvironmentName =>
  checked(text, dnsLabel, 'an environment name') as EnvironmentName;
export const componentName = (text: string): ComponentName => checked(text, dnsLabel, 'a component') as ComponentName;
export const providerName = (text: string): ProviderName => checked(text, dnsLabel, 'a provider') as ProviderName;
/** SHA-1 and SHA-256 repositories both exist. */
export const commitSha = (text: string): CommitSha => checked(text, /^[0-9a-f]{40}([0-9a-f]{24})?$/, 'a commit') as CommitSha;
export const revision = (text: string): Revision => checked(text, /^[0-9a-f]{16,64}$/, 'a revision') as Revision;
/** Of one length, so that ids are ordered as text too. */
export const eventId = (text: string): EventId => checked(text, /^[0-9]{16}$/, 'an event id') as EventId;

const checked = (text: string, pattern: RegExp, noun: string): string => {
  if (pattern.test(text)) return text;
  throw new TypeError(`${JSON.stringify(text)} is not ${noun}`);
};
