import { hash, randomBytes } from 'node:crypto';
import { EphError, printPerson } from '@eph/contract';
import type { Caller } from '@eph/engine/access/caller';
import type { Clock } from '@eph/engine/time/clock';

/** A browser that came with a link. It may do what the maker of the link may do. */
export interface Session extends Disposable {
  readonly caller: Caller;
  readonly expiresAt: number;
  /** Aborts when the session has ended. */
  readonly signal: AbortSignal;
}

const codeMs = 10 * 60_000;
const sessionMs = 12 * 3_600_000;

/** For one person. Their oldest makes room: whoever may make one could otherwise fill the memory of ephd. */
const most = 100;

const sessionPrefix = 'ephs_';

/** Codes for browsers and what they are exchanged for. All of it is in memory and ends with ephd. */
export class Sessions implements Disposable {
  readonly #clock: Clock;
  /** By digest, so that none of them stays in memory. */
  readonly #codes = new Map<string, { readonly caller: Caller; readonly expiresAt: number }>();
  readonly #sessions = new Map<string, Session>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Browsers do not send the fragment, so the code is in no log of a server or proxy. */
  createLink(caller: Caller, url: string): { readonly code: string; readonly url: string; readonly expiresAt: number } {
    const code = randomBytes(24).toString('base64url');
    const expiresAt = this.#clock.now() + codeMs;
    makeRoom(this.#codes, caller);
    this.#codes.set(digestOf(code), { caller, expiresAt });
    return { code, url: `${url}/#code=${code}`, expiresAt };
  }

  /**
   * A code counts once: who comes second learns that somebody else was first.
   * @param admit throws where its maker may not be here any more
   */
  create(code: string, admit: (caller: Caller) => void): { readonly token: string; readonly session: Session } {
    const known = this.#codes.get(digestOf(code));
    this.#codes.delete(digestOf(code));
    if (known === undefined || known.expiresAt <= this.#clock.now())
      throw new EphError(
        'api.unauthorized',
        'the link was used already, or it is older than ten minutes; `eph dashboard` makes another',
      );
    admit(known.caller);
    const token = `${sessionPrefix}${randomBytes(32).toString('base64url')}`;
    for (const oldest of makeRoom(this.#sessions, known.caller)) oldest[Symbol.dispose]();
    const session = this.#begin(digestOf(token), known.caller);
    return { token, session };
  }

  find(token: string): Session | undefined {
    const session = token.startsWith(sessionPrefix) ? this.#sessions.get(digestOf(token)) : undefined;
    if (session === undefined || session.expiresAt > this.#clock.now()) return session;
    // Timers do not count the time for which a machine sleeps.
    session[Symbol.dispose]();
    return undefined;
  }

  [Symbol.dispose](): void {
    this.#codes.clear();
    for (const session of this.#sessions.values()) session[Symbol.dispose]();
  }

  #begin(digest: string, caller: Caller): Session {
    const tokenEnds = caller.kind === 'person' ? caller.token?.expiresAt : undefined;
    const expiresAt = Math.min(this.#clock.now() + sessionMs, tokenEnds ?? Number.POSITIVE_INFINITY);
    const ended = new AbortController();
    const end = (): void => {
      cancel();
      this.#sessions.delete(digest);
      ended.abort(new EphError('api.unauthorized', 'the session has ended; `eph dashboard` makes a link to another'));
    };
    const cancel = this.#clock.after(expiresAt - this.#clock.now(), end);
    const session: Session = { caller, expiresAt, signal: ended.signal, [Symbol.dispose]: end };
    this.#sessions.set(digest, session);
    return session;
  }
}

const digestOf = (text: string): string => hash('sha256', text, 'base64');

const makeRoom = <T extends { readonly caller: Caller }>(all: Map<string, T>, caller: Caller): readonly T[] => {
  const own = [...all].filter(([, one]) => ownerOf(one.caller) === ownerOf(caller));
  const [oldest] = own;
  if (oldest === undefined || own.length < most) return [];
  all.delete(oldest[0]);
  return [oldest[1]];
};

const ownerOf = (caller: Caller): string => (caller.kind === 'person' ? printPerson(caller.person) : caller.kind);
