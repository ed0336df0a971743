import { type Failure, failure, type Isolation, type ProviderName, type Source } from '@eph/contract';

/** Why what others wrote is not run: a provider without a sandbox runs it as ephd itself. What runs already is left as it is. */
export const refuseUntrusted = (
  { pull }: Source,
  isProjectTrusted: boolean,
  providers: Iterable<{ readonly name: ProviderName; readonly isolation: Isolation }>,
): readonly Failure[] => {
  const isFork = (pull?.fork ?? null) !== null;
  if (isProjectTrusted && !isFork) return [];
  const runs = isFork ? 'no pull requests from forks' : 'only projects with `trusted: true` in the file of ephd';
  return [...providers].flatMap(({ name, isolation }) =>
    isolation.state === 'sandboxed'
      ? []
      : [failure('isolation.missing', `provider ${name} has no sandbox, so it runs ${runs}: ${isolation.because}`)],
  );
};
