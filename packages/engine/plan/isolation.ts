import { type Failure, failure, type Isolation, isFromFork, type ProviderName, type Sandboxed, type Source } from '@eph/contract';

/** Why what others wrote is not run: a provider without a sandbox runs it as ephd itself. What runs already is left as it is. */
export const refuseUntrusted = (
  source: Source,
  { trusted, network }: { readonly trusted: boolean; readonly network: Sandboxed['network'] },
  providers: Iterable<{ readonly name: ProviderName; readonly isolation: Isolation }>,
): readonly Failure[] => {
  const refused = (text: string): readonly Failure[] => [failure('isolation.missing', text)];
  const fromFork = isFromFork(source);
  const runs = describeLimits(fromFork, network);
  return [...providers].flatMap(({ name, isolation }) => {
    if (isolation.state === 'trusted')
      return trusted && !fromFork && network === 'shared'
        ? []
        : refused(`provider ${name} has no sandbox, so it runs ${runs}: ${isolation.because}`);
    const { lacks } = isolation;
    if (lacks.network !== undefined && (fromFork || network === 'own'))
      return refused(`provider ${name} has no network to keep this apart: ${lacks.network}`);
    return fromFork && lacks.limits !== undefined
      ? refused(`provider ${name} has no limits for this, so it runs ${runs}: ${lacks.limits}`)
      : [];
  });
};

const describeLimits = (fromFork: boolean, network: Sandboxed['network']): string => {
  if (fromFork) return 'no pull requests from forks';
  return network === 'own' ? 'nothing with `network: own`' : 'only projects with `trusted: true` in the file of ephd';
};
