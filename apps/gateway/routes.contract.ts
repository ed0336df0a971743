import { environmentName } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import type { ClosedRoute, OpenRoute, Route, Routes } from './routes.ts';

export interface RoutesHarness {
  readonly routes: Routes;
  /** Sets or removes a route, as the owner of the table would. */
  readonly show: (label: string, route: Route | undefined) => void;
}

export const describeRoutes = (name: string, createHarness: () => RoutesHarness): void => {
  describe(`${name} as routes`, () => {
    const environment = environmentName('shop-serene-ocean-4207');
    const open: OpenRoute = { state: 'open', environment, upstream: { host: '127.0.0.1', port: 4001 } };
    const closed: ClosedRoute = {
      state: 'closed',
      environment,
      phase: 'Progressing',
      summary: 'web is starting.',
      waitingFor: ['web'],
    };

    it('finds an environment by its name', () => {
      const { routes, show } = createHarness();
      show(environment, open);
      expect(routes.find(environment)).toEqual(open);
    });

    it('finds the environment behind an alias under the name the alias points to', () => {
      const { routes, show } = createHarness();
      show(environment, open);
      show('shop-pr-12', { state: 'alias', target: environment });
      expect(routes.find('shop-pr-12')).toEqual({ state: 'alias', target: environment });
      expect(routes.find(environment)).toEqual(open);
    });

    it('returns the newest route at once', () => {
      const { routes, show } = createHarness();
      show(environment, closed);
      expect(routes.find(environment)).toEqual(closed);
      show(environment, open);
      expect(routes.find(environment)).toEqual(open);
      show(environment, undefined);
      expect(routes.find(environment)).toBeUndefined();
    });

    it.each(['unknown', 'constructor', 'hasownproperty', 'prototype', 'a'.repeat(63)])('knows nothing of %j', (label) => {
      const { routes, show } = createHarness();
      show(environment, open);
      expect(routes.find(label)).toBeUndefined();
    });
  });
};
