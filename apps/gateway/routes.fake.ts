import type { Route, Routes } from './routes.ts';

export interface FakeRoutes extends Routes {
  set(label: string, route: Route): void;
  delete(label: string): void;
}

export const createFakeRoutes = (entries: { readonly [label: string]: Route } = {}): FakeRoutes => {
  const table = new Map(Object.entries(entries));
  return {
    find: (label) => table.get(label),
    set: (label, route) => void table.set(label, route),
    delete: (label) => void table.delete(label),
  };
};
