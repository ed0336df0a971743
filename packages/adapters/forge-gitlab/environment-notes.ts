import { type EnvironmentId, EphError, isMarkedComment } from '@eph/contract';
import { toError, unwrap } from '../forge-http/answer.ts';
import { ensureAward, hasAward } from './awards.ts';
import { type GitlabClient, parseNothing, parserOf } from './gitlab-client.ts';
import { readNotes } from './notes.ts';
import { noteShape } from './shapes.ts';

const parseWritten = parserOf(noteShape.pick({ id: true }));

/** The note about an environment on its merge request. Throws `EphError`. */
export interface EnvironmentNotes {
  ensure(number: number, environment: EnvironmentId, body: string, signal: AbortSignal): Promise<void>;
  forget(environment: EnvironmentId): void;
}

const emptyListReads = 3;

/** A note as last read; undefined if somebody deleted it. */
interface Known {
  readonly number: number;
  readonly note: { readonly id: number; readonly body: string } | undefined;
}

export const createEnvironmentNotes = (client: GitlabClient): EnvironmentNotes => {
  const known = new Map<EnvironmentId, Known>();
  const pathOf = (number: number): string => `/merge_requests/${number}`;

  const find = async (number: number, environment: EnvironmentId, signal: AbortSignal): Promise<Known['note']> => {
    const account = unwrap(await client.readAccount(signal));
    const notes = await readNotes(client, number, signal);
    if (!notes.complete) throw toError(notes.refusal);
    return notes.items.find(({ author, body }) => author.id === account && isMarkedComment(body, environment));
  };

  /** Adds a reaction that stays if somebody deletes the note. */
  const addMarker = async (number: number, environment: EnvironmentId, signal: AbortSignal): Promise<void> =>
    void unwrap(await ensureAward(client, pathOf(number), markerReaction(environment), signal));

  /** GitLab has no count of reactions and an empty list may be incomplete, so it is read several times. */
  const hasMarker = async (number: number, environment: EnvironmentId, signal: AbortSignal): Promise<boolean> => {
    for (let time = 0; time < emptyListReads; time += 1)
      if (unwrap(await hasAward(client, pathOf(number), markerReaction(environment), signal))) return true;
    return false;
  };

  const create = async (number: number, environment: EnvironmentId, body: string, signal: AbortSignal): Promise<Known> => {
    if (await hasMarker(number, environment, signal)) return { number, note: undefined };
    const { id } = unwrap(await client.send('POST', `${pathOf(number)}/notes`, { body }, parseWritten, signal));
    await addMarker(number, environment, signal);
    return { number, note: { id, body } };
  };

  const edit = async (number: number, id: number, body: string, signal: AbortSignal): Promise<boolean> => {
    const answer = await client.send('PUT', `${pathOf(number)}/notes/${id}`, { body }, parseNothing, signal);
    if (!answer.ok && answer.meaning !== 'gone') throw toError(answer);
    return answer.ok;
  };

  const write = async (number: number, environment: EnvironmentId, body: string, signal: AbortSignal): Promise<Known> => {
    const before = known.get(environment);
    if (before?.number === number && before.note === undefined) return before;
    const ours = before?.number === number ? before.note : undefined;
    if (ours?.body === body) return { number, note: ours };
    if (ours !== undefined && (await edit(number, ours.id, body, signal))) return { number, note: { id: ours.id, body } };
    const found = await find(number, environment, signal);
    if (found === undefined) return await create(number, environment, body, signal);
    await addMarker(number, environment, signal);
    if (found.body !== body && !(await edit(number, found.id, body, signal)))
      throw new EphError(
        'report.failed',
        `The note on merge request ${number} of ${client.shown} was deleted while it was edited.`,
      );
    return { number, note: { id: found.id, body } };
  };

  return {
    async ensure(number, environment, body, signal) {
      try {
        known.set(environment, await write(number, environment, body, signal));
      } catch (error) {
        // The note may have been written; the next call searches for it.
        known.delete(environment);
        throw error;
      }
    },
    forget: (environment) => void known.delete(environment),
  };
};

/** Each environment has its own reaction, so that several on one merge request are distinguished. */
const markerEmoji =
  'seedling evergreen_tree deciduous_tree palm_tree cactus herb four_leaf_clover mushroom sunflower tulip rose hibiscus cherry_blossom blossom bouquet maple_leaf fallen_leaf leaves chestnut apple green_apple pear tangerine lemon banana watermelon grapes strawberry melon cherries peach pineapple'.split(
    ' ',
  );

const markerReaction = (environment: EnvironmentId): string =>
  markerEmoji[Number.parseInt(environment.slice(-4), 16) % markerEmoji.length] ?? 'seedling';
