import { silentLog } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../time/clock.fake.ts';
import { tokenRevocation } from './revocation-store.contract.ts';
import { FakeRevocationStore } from './revocation-store.fake.ts';
import { Revocations } from './revocations.ts';

const ann = { issuer: 'https://id.example.com', subject: '7' };
const bob = { issuer: 'https://id.example.com', subject: '8' };
const year = 365 * 24 * 60 * 60_000;

/** Two stores that outlive every ephd which uses them. */
class Machine {
  readonly clock: ManualClock;
  readonly file: FakeRevocationStore;
  readonly database: FakeRevocationStore;
  readonly withDatabase: boolean;
  #generations = 0;

  constructor(withDatabase = true, database?: FakeRevocationStore, clock = new ManualClock()) {
    this.clock = clock;
    this.withDatabase = withDatabase;
    this.file = new FakeRevocationStore('file', () => this.clock.now());
    this.database = database ?? new FakeRevocationStore('database', () => this.clock.now());
  }

  open(): Revocations {
    return new Revocations({
      file: this.file,
      database: this.withDatabase ? this.database : undefined,
      clock: this.clock,
      createGeneration: () => `${(this.#generations += 1)} of ${Math.random()}`,
      log: silentLog,
    });
  }

  async start(): Promise<Revocations> {
    const revocations = this.open();
    await revocations.refresh();
    return revocations;
  }

  /** Lets the next refresh happen and waits for it. */
  async pass(revocations: Revocations, ms = 3_000): Promise<void> {
    this.clock.advance(ms);
    await revocations.refresh();
  }

  token(revocations: Revocations, id: string): IssuedToken {
    return { id, after: revocations.revokedBefore(ann), generation: generationOf(revocations) };
  }
}

interface IssuedToken {
  readonly id: string;
  readonly after: number;
  readonly generation: string;
}

const generationOf = ({ state }: Revocations): string => (state.ready ? state.generation : `refused: ${state.message}`);

const isValid = (revocations: Revocations, token: IssuedToken, person = ann): boolean =>
  revocations.state.ready && revocations.state.generation === token.generation && !revocations.isRevoked(token, person);

describe.each([true, false])('revocations, with a database: %s', (withDatabase) => {
  it('refuse every token before the first reading', async () => {
    const revocations = new Machine(withDatabase).open();
    expect(revocations.state).toEqual({ ready: false, message: expect.stringContaining('have not been read yet') });
    await expect(revocations.revokeToken('a')).rejects.toMatchObject({ code: 'access.unavailable' });
  });

  it('begin a generation at the first start, and keep it', async () => {
    const machine = new Machine(withDatabase);
    const first = generationOf(await machine.start());
    expect(first).toMatch(/^1 of /);
    expect(generationOf(await machine.start())).toBe(first);
  });

  it('end one token, now and after a restart', async () => {
    const machine = new Machine(withDatabase);
    const revocations = await machine.start();
    const [a, b] = [machine.token(revocations, 'a'), machine.token(revocations, 'b')];
    expect(await revocations.revokeToken('a')).toEqual({ missing: undefined });
    for (const each of [revocations, await machine.start()])
      expect([a, b].map((token) => isValid(each, token))).toEqual([false, true]);
  });

  it('end all tokens of a person that exist, and none that are made later', async () => {
    const machine = new Machine(withDatabase);
    const revocations = await machine.start();
    const before = machine.token(revocations, 'before');
    await revocations.revokePerson(ann);
    const after = machine.token(revocations, 'after');
    for (const each of [revocations, await machine.start()]) {
      expect([before, after].map((token) => isValid(each, token))).toEqual([false, true]);
      expect(isValid(each, before, bob)).toBe(true);
    }
    expect(revocations.revokedBefore(bob)).toBe(0);
  });

  it('end all tokens of a person whatever the clock was, and whatever it is', async () => {
    const machine = new Machine(withDatabase);
    let revocations = await machine.start();
    for (const jump of [year, -year, 0, -3_600_000, 10]) {
      const before = machine.token(revocations, 'before');
      machine.clock.jump(jump);
      await revocations.revokePerson(ann);
      const after = machine.token(revocations, 'after');
      revocations = await machine.start();
      expect([before, after].map((token) => isValid(revocations, token))).toEqual([false, true]);
    }
  });

  it('end all tokens where everything was lost', async () => {
    const machine = new Machine(withDatabase);
    const before = await machine.start();
    const token = machine.token(before, 'a');
    machine.file.lose();
    machine.database.lose();
    const revocations = await machine.start();
    expect(revocations.state.ready).toBe(true);
    expect(isValid(revocations, token)).toBe(false);
  });

  it('refuse every token while the file is damaged, until it is deleted', async () => {
    const machine = new Machine(withDatabase);
    const before = await machine.start();
    const token = machine.token(before, 'a');
    await before.revokeToken('a');
    machine.file.fault = 'is damaged; delete it';
    const revocations = await machine.start();
    expect(revocations.state).toEqual({ ready: false, message: 'the file is damaged; delete it' });
    machine.file.lose();
    machine.file.fault = undefined;
    await machine.pass(revocations);
    expect(revocations.state.ready).toBe(true);
    expect(generationOf(revocations) === token.generation).toBe(withDatabase);
    expect(isValid(revocations, token)).toBe(false);
  });

  it('count at once, and are repeated, where the file cannot be written', async () => {
    const machine = new Machine(withDatabase);
    const revocations = await machine.start();
    const token = machine.token(revocations, 'a');
    machine.file.fault = 'is on a full disk';
    await expect(revocations.revokeToken('a')).rejects.toMatchObject({
      code: 'access.unavailable',
      message:
        'the revocation could not be written to the file: the file is on a full disk; this ephd refuses the token until it stops, and keeps trying to write the file',
    });
    expect(isValid(revocations, token)).toBe(false);
    machine.file.fault = undefined;
    await machine.pass(revocations);
    machine.database.lose();
    expect(isValid(await machine.start(), token)).toBe(false);
  });

  it('are dropped when their tokens have expired for a while, and not earlier', async () => {
    const machine = new Machine(withDatabase);
    const revocations = await machine.start();
    await revocations.revokeToken('short', machine.clock.now() + 1_000);
    await revocations.revokeToken('unknown');
    await revocations.revokePerson(ann);
    const subjects = async (): Promise<readonly string[]> => {
      await machine.pass(revocations);
      const tokens = ['short', 'unknown'].filter((id) => revocations.isRevoked({ id, after: machine.clock.now() }, bob));
      return revocations.revokedBefore(ann) === 0 ? tokens : [...tokens, 'ann'];
    };
    machine.clock.advance(29 * 24 * 60 * 60_000);
    expect(await subjects()).toHaveLength(3);
    machine.clock.advance(2 * 24 * 60 * 60_000);
    expect(await subjects()).toEqual(['unknown', 'ann']);
    machine.clock.advance(year);
    expect(await subjects()).toEqual([]);
  });

  it('are not lost by a clock that is years ahead for a while', async () => {
    const machine = new Machine(withDatabase);
    const revocations = await machine.start();
    const token = machine.token(revocations, 'a');
    await revocations.revokeToken('a');
    machine.clock.jump(3 * year);
    await machine.pass(revocations);
    machine.clock.jump(-3 * year);
    await machine.pass(revocations);
    expect(isValid(revocations, token)).toBe(false);
    expect(isValid(await machine.start(), token)).toBe(false);
  });

  it('call back after a change, and not without one', async () => {
    const machine = new Machine(withDatabase);
    const revocations = await machine.start();
    let calls = 0;
    const listening = revocations.onChange(() => (calls += 1));
    await machine.pass(revocations);
    expect(calls).toBe(0);
    await revocations.revokeToken('a');
    expect(calls).toBe(1);
    await revocations.revokeToken('a', 0);
    await machine.pass(revocations);
    expect(calls).toBe(1);
    listening[Symbol.dispose]();
    await revocations.revokeToken('b');
    expect(calls).toBe(1);
  });

  it('that come together are written together', async () => {
    const machine = new Machine(withDatabase);
    const revocations = await machine.start();
    const ids = Array.from({ length: 1_000 }, (_, index) => `t${index}`);
    const before = machine.file.writes;
    await Promise.all(ids.map((id) => revocations.revokeToken(id)));
    expect(machine.file.writes - before).toBeLessThanOrEqual(2);
    expect((await machine.file.read())?.revocations).toHaveLength(1_000);
  });

  it('stop with the clock', async () => {
    const machine = new Machine(withDatabase);
    const revocations = await machine.start();
    expect(machine.clock.pending).toBe(1);
    await revocations[Symbol.asyncDispose]();
    expect(machine.clock.pending).toBe(0);
    await revocations.refresh();
    expect(machine.clock.pending).toBe(0);
  });
});

describe('the two stores', () => {
  it('fill each other after a loss', async () => {
    for (const lost of ['file', 'database'] as const) {
      const machine = new Machine();
      const before = await machine.start();
      const [a, b] = [machine.token(before, 'a'), machine.token(before, 'b')];
      await before.revokeToken('a');
      machine[lost].lose();
      await machine.start();
      machine[lost === 'file' ? 'database' : 'file'].lose();
      const revocations = await machine.start();
      expect([a, b].map((token) => isValid(revocations, token))).toEqual([false, true]);
    }
  });

  it('fill the database that is dropped while ephd runs', async () => {
    const machine = new Machine();
    const revocations = await machine.start();
    await revocations.revokeToken('a');
    machine.database.lose();
    await machine.pass(revocations);
    expect(await machine.database.read()).toMatchObject({
      generation: generationOf(revocations),
      revocations: [{ subject: 'a' }],
    });
  });

  it('count together', async () => {
    const machine = new Machine();
    const tokens = ['a', 'b'].map((id) => ({ id, after: 0, generation: 'one' }));
    await machine.file.add({ generation: 'one', revocations: [tokenRevocation('a')] });
    await machine.database.add({ generation: 'one', revocations: [tokenRevocation('b')] });
    const revocations = await machine.start();
    expect(tokens.map((token) => isValid(revocations, token))).toEqual([false, false]);
  });

  it('have the generation of the database where they differ', async () => {
    const machine = new Machine();
    await machine.file.add({ generation: 'of the file', revocations: [tokenRevocation('a')] });
    await machine.database.add({ generation: 'of the database', revocations: [] });
    const revocations = await machine.start();
    expect(generationOf(revocations)).toBe('of the database');
    expect(await machine.file.read()).toMatchObject({ generation: 'of the database', revocations: [{ subject: 'a' }] });
    expect(await machine.database.read()).toMatchObject({ revocations: [{ subject: 'a' }] });
  });

  it('notice another generation while ephd runs', async () => {
    const machine = new Machine();
    const revocations = await machine.start();
    const token = machine.token(revocations, 'a');
    machine.database.lose();
    await machine.database.add({ generation: 'of another ephd', revocations: [] });
    await machine.pass(revocations);
    expect(generationOf(revocations)).toBe('of another ephd');
    expect(isValid(revocations, token)).toBe(false);
    expect(await machine.file.read()).toMatchObject({ generation: 'of another ephd' });
  });
});

describe('a database that does not answer', () => {
  const down = 'does not answer';

  it('is not needed at the start, nor later', async () => {
    const machine = new Machine();
    const before = await machine.start();
    const [a, b] = [machine.token(before, 'a'), machine.token(before, 'b')];
    await before.revokeToken('a');
    machine.database.fault = down;
    const revocations = await machine.start();
    expect([a, b].map((token) => isValid(revocations, token))).toEqual([false, true]);
    expect(await revocations.revokeToken('b')).toEqual({ missing: 'the database does not answer' });
    expect(isValid(await machine.start(), b)).toBe(false);
    machine.database.fault = undefined;
    await machine.pass(revocations);
    expect(await machine.database.read()).toMatchObject({ revocations: [{ subject: 'a' }, { subject: 'b' }] });
  });

  it('refuses every token where there is no file either: it may hold revocations', async () => {
    const machine = new Machine();
    const before = await machine.start();
    const [a, b] = [machine.token(before, 'a'), machine.token(before, 'b')];
    await before.revokeToken('a');
    machine.file.lose();
    machine.database.fault = down;
    const revocations = await machine.start();
    expect(revocations.state).toEqual({
      ready: false,
      message: 'the file does not exist, and the database does not answer; tokens are refused until that answers',
    });
    machine.database.fault = undefined;
    await machine.pass(revocations);
    expect([a, b].map((token) => isValid(revocations, token))).toEqual([false, true]);
  });

  it('keeps nobody waiting for longer than five seconds', async () => {
    const machine = new Machine();
    const revocations = await machine.start();
    machine.database.add = () => new Promise(() => {});
    const answer = revocations.revokeToken('a');
    // The write to the file, and then the wait for the database.
    await expect.poll(() => machine.clock.pending).toBe(2);
    machine.clock.advance(5_000);
    expect(await answer).toEqual({ missing: 'the database has not answered within 5 seconds' });
  });
});

describe('two ephd with one database', () => {
  const startBoth = async () => {
    const one = new Machine();
    const other = new Machine(true, one.database, one.clock);
    return { one, other, first: await one.start(), second: await other.start() };
  };

  it('have one generation, and know the revocations of each other within seconds', async () => {
    const { one, other, first, second } = await startBoth();
    expect(generationOf(second)).toBe(generationOf(first));
    const token = one.token(first, 'a');
    await first.revokeToken('a');
    await other.pass(second);
    expect(isValid(second, token)).toBe(false);
  });

  it('end the tokens of a person that the other one has just made', async () => {
    const { one, other, first, second } = await startBoth();
    await first.revokePerson(ann);
    const token = one.token(first, 'a');
    one.clock.jump(-60_000);
    await second.revokePerson(ann);
    await one.pass(first);
    expect([first, second].map((each) => isValid(each, token))).toEqual([false, false]);
    expect(isValid(second, other.token(second, 'b'))).toBe(true);
  });

  it('have one generation also if they start at the same time', async () => {
    const one = new Machine();
    const other = new Machine(true, one.database, one.clock);
    const [first, second] = await Promise.all([one.start(), other.start()]);
    expect(generationOf(second)).toBe(generationOf(first));
  });
});

describe('whatever fails and is lost', () => {
  type Step =
    | 'revoke'
    | 'restart'
    | 'lose file'
    | 'lose database'
    | 'stop database'
    | 'start database'
    | 'fill disk'
    | 'free disk'
    | 'pass';
  const steps = fc.array(
    fc.constantFrom<Step>(
      'revoke',
      'restart',
      'lose file',
      'lose database',
      'stop database',
      'start database',
      'fill disk',
      'free disk',
      'pass',
    ),
    { maxLength: 40 },
  );

  it('no token that was revoked is valid again', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const machine = new Machine();
        const { file, database } = machine;
        let revocations = await machine.start();
        const revoked: IssuedToken[] = [];
        /** Whether the database has everything that was answered; only then may the file be lost. */
        let isInDatabase = true;
        for (const [index, step] of all.entries()) {
          if (step === 'revoke' && revocations.state.ready) {
            const token = machine.token(revocations, `t${index}`);
            const answer = await revocations.revokeToken(token.id).catch(() => undefined);
            if (answer !== undefined) {
              revoked.push(token);
              isInDatabase &&= answer.missing === undefined;
            }
          }
          if (step === 'lose file' && isInDatabase) file.lose();
          if (step === 'lose database') database.lose();
          if (step === 'stop database') database.fault = 'does not answer';
          if (step === 'start database') database.fault = undefined;
          if (step === 'fill disk') file.fault = 'is on a full disk';
          if (step === 'free disk') file.fault = undefined;
          if (step === 'restart') {
            await revocations[Symbol.asyncDispose]();
            revocations = await machine.start();
          }
          if (step === 'pass') {
            await machine.pass(revocations);
            isInDatabase ||= revocations.state.ready && database.fault === undefined;
          }
          expect(revoked.filter((token) => isValid(revocations, token))).toEqual([]);
        }
        file.fault = undefined;
        database.fault = undefined;
        await machine.pass(revocations);
        expect(revocations.state.ready).toBe(true);
        expect(revoked.filter((token) => isValid(revocations, token))).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });
});
