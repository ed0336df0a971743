import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { EphError, type Log, type Permission, type Person, type PlacedRule, type ProjectId, toFailure } from '@eph/contract';
import type { Caller } from '@eph/engine/access/caller';
import { CallerAccess, type Decision, decide, type LabelsOf } from '@eph/engine/access/decide';
import type { RevocationStore } from '@eph/engine/access/revocation-store';
import { Revocations } from '@eph/engine/access/revocations';
import type { ConfigurationReader } from '@eph/engine/source/read-configuration';
import type { Cancel, Clock } from '@eph/engine/time/clock';
import { CurrentRules } from './current-rules.ts';
import { keysForm, parseKeys, readKeysFile } from './keys.ts';
import { RevocationFile } from './revocation-file.ts';
import { Tokens, type TokensOptions } from './tokens.ts';
import { type AccessWatch, type LongUse, Watches } from './watches.ts';

export interface AccessOptions {
  readonly dataFolder: string;
  /** As `parseKeys` takes them; undefined where they are in the data folder. */
  readonly keys: string | undefined;
  readonly rules: readonly PlacedRule[];
  /** Without a configuration repository there is none. */
  readonly reader: Pick<ConfigurationReader, 'rules' | 'headFault' | 'refresh'> | undefined;
  /** Shared with other ephd; undefined where there is no database. */
  readonly database: RevocationStore | undefined;
  readonly labelsOf: LabelsOf;
  /** Its timers should not keep the process alive. */
  readonly clock: Clock;
  readonly log: Log;
}

/** An ephd that does not lead reads the configuration repository for its rules only. */
const rulesMs = 60_000;

/** Reads the keys. Does not wait for the stores of revoked tokens: until they are read, tokens are refused. */
export const startAccess = async (options: AccessOptions): Promise<Access> => {
  const access = new Access(options, await readKeys(options));
  access.start();
  return access;
};

const readKeys = async ({ dataFolder, keys: text, log }: AccessOptions): Promise<TokensOptions['keys']> => {
  if (text !== undefined) return parseKeys(text) ?? { fault: `the keys of tokens must be ${keysForm}` };
  try {
    return await readKeysFile(join(dataFolder, 'access', 'keys.json'));
  } catch (error) {
    const { message } = toFailure(error);
    log.warn({ reason: message }, 'all tokens are refused');
    return { fault: message };
  }
};

/** Who may use the API, and for what. */
export class Access implements AsyncDisposable {
  readonly tokens: Tokens;
  readonly revocations: Revocations;
  readonly rules: CurrentRules;
  readonly #options: AccessOptions;
  readonly #watches: Watches;
  readonly #listening: Disposable;
  readonly #compiled = new WeakMap<Caller, { readonly set: CurrentRules['set']; readonly access: CallerAccess }>();
  readonly #stopping = new AbortController();
  #cancel: Cancel | undefined;

  constructor(options: AccessOptions, keys: TokensOptions['keys']) {
    const { dataFolder, database, clock, log } = options;
    this.#options = options;
    this.revocations = new Revocations({
      file: new RevocationFile(join(dataFolder, 'access', 'revocations.json'), () => clock.now()),
      database,
      clock,
      createGeneration: () => randomBytes(16).toString('base64url'),
      log,
    });
    this.tokens = new Tokens({ keys, revocations: this.revocations, now: () => clock.now() });
    this.rules = new CurrentRules(options.rules, options.reader);
    this.#watches = new Watches({ clock, check: (use) => this.#check(use) });
    this.#listening = this.revocations.onChange(() => this.#watches.checkAll());
  }

  start(): void {
    void this.revocations.refresh();
    void this.#refreshRules();
  }

  /** What a caller may do. Callers of the same token are the same object, so this is computed once for each set of rules. */
  of(caller: Caller): CallerAccess {
    const { set } = this.rules;
    const known = this.#compiled.get(caller);
    if (known?.set === set) return known.access;
    const access = new CallerAccess(caller, set, this.#options.labelsOf);
    this.#compiled.set(caller, { set, access });
    return access;
  }

  /** What a person may do without the limits of a token. */
  explain(person: Person, permission: Permission, project?: ProjectId): Decision {
    const caller = { kind: 'person', person, groups: [], repository: undefined, token: undefined } as const;
    return decide(caller, this.rules.set, this.#options.labelsOf, permission, project);
  }

  /** For a stream, which ends when the token of its caller does, or when a change of rules forbids it. */
  watch(caller: Caller, decide: LongUse['decide']): AccessWatch {
    return this.#watches.add({ caller, decide });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#cancel?.();
    this.#listening[Symbol.dispose]();
    this.#watches[Symbol.dispose]();
    await this.revocations[Symbol.asyncDispose]();
  }

  #check({ caller, decide }: LongUse): EphError | undefined {
    if (caller.kind === 'administrator') return undefined;
    const { token } = caller;
    const refusal = token && this.tokens.check({ ...caller, token });
    if (refusal !== undefined) return new EphError('api.unauthorized', refusal.message);
    const { allowed, because } = decide(this.of(caller));
    return allowed ? undefined : new EphError('api.forbidden', because);
  }

  async #refreshRules(): Promise<void> {
    const { reader, clock, log } = this.#options;
    if (reader === undefined || this.#stopping.signal.aborted) return;
    try {
      await reader.refresh(this.#stopping.signal);
    } catch (error) {
      log.warn({ reason: toFailure(error).message }, 'the rules of access could not be read; will retry');
    }
    if (!this.#stopping.signal.aborted) this.#cancel = clock.after(rulesMs, () => void this.#refreshRules());
  }
}
