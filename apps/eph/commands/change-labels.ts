import type { RequestAnswer } from '@eph/contract';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { findEnvironment } from '../find-environment.ts';
import { renderAnswer } from '../request-view.ts';

type Ask = (client: Client, id: string) => Promise<RequestAnswer>;

export interface LabelOptions {
  /** Take it back. */
  readonly off?: boolean;
}

/** Requests that are labels of a pull request in the end. */
const change = async ({ client, print }: Context, name: string, ask: Ask): Promise<void> => {
  const { id } = await findEnvironment(client, name);
  const answer = await ask(client, id);
  await print(answer, () => renderAnswer(answer));
};

export const pin = (context: Context, name: string, { off = false }: LabelOptions): Promise<void> =>
  change(context, name, (client, id) =>
    off ? client.unpinEnvironment({ path: { id } }) : client.pinEnvironment({ path: { id } }),
  );

export const pause = (context: Context, name: string, { off = false }: LabelOptions): Promise<void> =>
  change(context, name, (client, id) =>
    off ? client.resumeEnvironment({ path: { id } }) : client.pauseEnvironment({ path: { id } }),
  );

export const extend = (context: Context, name: string, time: string): Promise<void> =>
  change(context, name, (client, id) => client.extendEnvironment({ path: { id }, body: { for: time } }));
