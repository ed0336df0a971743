import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Page {
  readonly status: number;
  readonly body: string;
}

/** Gets the front page of an environment through the gateway, as a browser at `<name>.localhost` would. */
export const visit = async (gatewayPort: number, name: string): Promise<Page> => {
  const headers = { host: `${name}.localhost:${gatewayPort}` };
  const outgoing = request({
    host: '127.0.0.1',
    port: gatewayPort,
    path: '/',
    headers,
    signal: AbortSignal.timeout(5_000),
  }).end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
};

export interface Visits {
  readonly total: number;
  readonly failures: readonly string[];
}

/** Visits until stopped; every answer but 200 is a failure. */
export const visitRepeatedly = (gatewayPort: number, name: string): { stop(): Promise<Visits> } => {
  const failures: string[] = [];
  let total = 0;
  let visiting = true;
  const visits = (async () => {
    while (visiting) {
      total += 1;
      try {
        const page = await visit(gatewayPort, name);
        if (page.status !== 200) failures.push(`status ${page.status}`);
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  return {
    async stop() {
      visiting = false;
      await visits;
      return { total, failures };
    },
  };
};
