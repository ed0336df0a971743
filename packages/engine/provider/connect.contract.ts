import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type ComponentName, componentName, type EnvironmentId, type ErrorCode, environmentId } from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import type { Provider } from './provider.ts';

/** A component that answers HTTP requests for `/` on a port, and listens on no other. */
export interface Listening {
  readonly provider: Pick<Provider, 'connect'>;
  readonly environment: EnvironmentId;
  readonly component: ComponentName;
  readonly port: number;
  remove(): Promise<void>;
}

const connect = async (listening: Listening, more: Partial<Pick<Listening, 'component' | 'environment' | 'port'>> = {}) => {
  const { provider, environment, component, port } = { ...listening, ...more };
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  return await provider.connect(environment, component, port, abort.signal);
};

/** With an error or without. */
const untilClosed = (connection: Duplex): Promise<void> =>
  new Promise((resolve) =>
    connection
      .on('error', () => undefined)
      .once('close', () => resolve())
      .resume(),
  );

const ask = async (connection: Duplex): Promise<string> => {
  connection.write('GET / HTTP/1.0\r\n\r\n');
  return await text(connection);
};

/** Where a provider does not connect. */
export const describeRefusedConnect = (code: ErrorCode, start: () => Promise<Listening>): void => {
  it(`is refused with ${code}`, async () => {
    await expect(connect(await start())).rejects.toMatchObject({ code });
  });
};

/** Connections of people to ports of a component. */
export const describeConnect = (start: () => Promise<Listening>): void => {
  it('carries bytes both ways until the component ends it, also several at once', async () => {
    const listening = await start();
    const [one, two] = await Promise.all([connect(listening), connect(listening)]);
    for (const answer of await Promise.all([ask(one), ask(two)])) expect(answer).toMatch(/^HTTP\/1\.[01] 200 /);
  });

  it('ends when it is aborted', async () => {
    const { provider, environment, component, port } = await start();
    const abort = new AbortController();
    const connection = await provider.connect(environment, component, port, abort.signal);
    const closed = untilClosed(connection);
    abort.abort();
    await closed;
    await expect(provider.connect(environment, component, port, abort.signal)).rejects.toThrow('abort');
  });

  it('ends when the component is removed', async () => {
    const listening = await start();
    const connection = await connect(listening);
    const closed = untilClosed(connection);
    connection.write('GET / HTTP/1.1\r\nhost: x\r\n');
    await listening.remove();
    await closed;
    expect(connection.destroyed).toBe(true);
  });

  it('is refused where nothing listens, at once or on the connection', async () => {
    const asked = connect(await start(), { port: 1 }).then(ask);
    await expect(asked).rejects.toMatchObject({ code: 'component.not_ready' });
  });

  it('is refused where there is no such component', async () => {
    const listening = await start();
    const unknown = { code: 'api.not_found' };
    await expect(connect(listening, { component: componentName('other') })).rejects.toMatchObject(unknown);
    await expect(connect(listening, { environment: environmentId('00000000000000dd') })).rejects.toMatchObject(unknown);
  });
};
