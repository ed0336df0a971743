import { EphError, type ProjectId, type StreamItem } from '@eph/contract';
import type { FollowEntry } from '@eph/engine/history/event-log';

/** What a follower of history sees, as items of the stream. */
export async function* followEvents(
  entries: AsyncIterable<FollowEntry>,
  isVisible: (project: ProjectId | null) => boolean,
): AsyncGenerator<StreamItem, void> {
  for await (const entry of entries)
    switch (entry.kind) {
      case 'stored':
        if (isVisible(entry.event.project)) yield { type: 'event', event: entry.event };
        break;
      case 'unstored':
        if (isVisible(entry.event.project)) yield { type: 'event', event: { id: null, ...entry.event } };
        break;
      case 'storage':
        yield { type: 'history', reachable: entry.reachable, message: entry.message };
        break;
      case 'lagging':
        throw new EphError(
          'api.too_slow',
          'history cannot be read, and more happened than ephd keeps for a slow reader; connect again later to go on',
        );
    }
}
