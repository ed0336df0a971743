import { EphError } from '@eph/contract';
import { addRevocations, dropExpired } from '@eph/engine/access/revocation-list';
import type { Revocation, RevocationStore, StoredRevocations } from '@eph/engine/access/revocation-store';
import { z } from 'zod';
import { readJson, writeDurably } from './durable-file.ts';

const schema = z.strictObject({
  generation: z.string().min(1),
  revocations: z.array(
    z.strictObject({ kind: z.enum(['token', 'person']), subject: z.string().min(1), before: z.number(), until: z.number() }),
  ),
});

/** Revoked tokens in a file of the data folder, which one ephd at a time has. Its generation follows that of the database. */
export class RevocationFile implements RevocationStore {
  readonly place: string;
  readonly #path: string;
  readonly #now: () => number;
  /** What it holds as far as this ephd knows, so that a file which is lost or damaged later is written again in full. */
  #known: StoredRevocations | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(path: string, now: () => number) {
    this.place = `the file ${path}`;
    this.#path = path;
    this.#now = now;
  }

  async read(): Promise<StoredRevocations | undefined> {
    const content = await readJson(this.#path);
    const parsed = content === undefined ? undefined : schema.safeParse(content);
    if (parsed?.success === false)
      throw new EphError(
        'config.invalid',
        `${this.place}, which lists revoked tokens, is damaged; all tokens are refused until it is deleted. Without a database, that ends them; with one, ephd takes the list from there`,
      );
    this.#known = parsed?.data;
    return parsed?.data;
  }

  add(given: StoredRevocations): Promise<string> {
    const added = this.#turn.then(() => this.#add(given));
    // The caller gets the error; the next one does not.
    this.#turn = added.catch(() => {});
    return added;
  }

  async #add({ generation, revocations }: StoredRevocations): Promise<string> {
    const stored = this.#known ?? (await this.read());
    const list = new Map<string, Revocation>();
    addRevocations(list, stored?.revocations ?? []);
    const isChanged = addRevocations(list, revocations) || stored?.generation !== generation;
    dropExpired(list, this.#now());
    if (!isChanged) return generation;
    const content = { generation, revocations: [...list.values()] };
    await writeDurably(this.#path, content);
    this.#known = content;
    return generation;
  }
}
