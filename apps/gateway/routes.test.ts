import { describeRoutes } from './routes.contract.ts';
import { createFakeRoutes } from './routes.fake.ts';

describeRoutes('the fake', () => {
  const routes = createFakeRoutes();
  return { routes, show: (label, route) => (route === undefined ? routes.delete(label) : routes.set(label, route)) };
});
