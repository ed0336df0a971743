import type { CommitSha } from '@eph/contract';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GiteaClient } from './gitea-client.ts';
import { combinedStatusShape, type StatusShape } from './shapes.ts';

const listedStatuses = {
  parse: (body: unknown): readonly StatusShape[] => combinedStatusShape.parse(body).statuses ?? [],
  keyOf: ({ context }: StatusShape): string => context,
  what: 'statuses',
};

export const readStatuses = (client: GiteaClient, commit: CommitSha, signal: AbortSignal): Promise<Listing<StatusShape>> =>
  client.list(`/commits/${commit}/status`, listedStatuses, signal);
