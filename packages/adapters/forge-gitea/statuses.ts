import type { CommitSha } from '@eph/contract';
import type { Listing } from '../forge-http/read-pages.ts';
import { type GiteaClient, listBy } from './gitea-client.ts';
import { combinedStatusShape, type StatusShape } from './shapes.ts';

const parseStatuses = (body: unknown): readonly StatusShape[] => combinedStatusShape.parse(body).statuses ?? [];
const listedStatuses = listBy('statuses', parseStatuses, ({ context }) => context);

export const readStatuses = (client: GiteaClient, commit: CommitSha, signal: AbortSignal): Promise<Listing<StatusShape>> =>
  client.list(`/commits/${commit}/status`, listedStatuses, signal);
