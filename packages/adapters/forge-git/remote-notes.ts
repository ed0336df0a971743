import { EphError, isEphError } from '@eph/contract';
import type { GitOutput } from './git-command.ts';
import { gitError, gitMessage } from './git-errors.ts';
import { fetchCommand, type Mirror } from './mirror.ts';
import { computeNotesImport, isImportConflict, type NotesStore, notesImportArgs, notesRef } from './notes-store.ts';
import { isPushConflict, rejectionReason } from './push-output.ts';

export interface RemoteNotesOptions {
  readonly mirror: Mirror;
  readonly shown: string;
  readonly now: () => number;
  /** Makes sure that the mirror can be opened. */
  readonly prepare: (signal: AbortSignal) => Promise<void>;
}

/** Notes of others are seen at the latest after this time; in between, a report that says nothing new costs no request. */
const freshMs = 30_000;
/** A remote that does not let us write is not asked again before this time. */
const refusedMs = 10 * 60_000;

/** Notes of a remote repository: fetched into the mirror, changed there, pushed back if nobody was quicker. */
export const createRemoteNotes = ({ mirror, shown, now, prepare }: RemoteNotesOptions): NotesStore => {
  let freshUntil = Number.NEGATIVE_INFINITY;
  let refusal: { readonly until: number; readonly message: string } | undefined;

  const refresh = async (signal: AbortSignal): Promise<void> => {
    const output = await mirror.transfer([...fetchCommand, '--depth=1'], [`+${notesRef}:${notesRef}`], signal);
    if (output.exitCode !== 0 && !/couldn't find remote ref/.test(output.stderr)) throw gitError(output, shown);
    if (output.exitCode !== 0) await mirror.run(['update-ref', '-d', notesRef], { signal });
    freshUntil = now() + freshMs;
  };

  const push = async (tip: string | undefined, signal: AbortSignal): Promise<boolean> => {
    const lease = `--force-with-lease=${notesRef}:${tip ?? ''}`;
    const output = await mirror.transfer(['push', '--porcelain', '--no-verify', lease], [`${notesRef}:${notesRef}`], signal);
    if (output.exitCode === 0) return true;
    // The mirror is ahead of the remote now; the next reading puts that right.
    freshUntil = Number.NEGATIVE_INFINITY;
    if (isPushConflict(output)) return false;
    throw pushError(output);
  };

  const pushError = (output: GitOutput): EphError => {
    const declined = rejectionReason(output);
    const error = gitError(output, shown);
    const message = `The status cannot be written to ${notesRef} of ${shown}: ${declined ?? gitMessage(output)}`;
    if (declined === undefined && error.code !== 'forge.refused') return new EphError('report.failed', message, { cause: error });
    refusal = { until: now() + refusedMs, message: `${message} Give Eph the right to push there, or switch reports off.` };
    return refused(refusal, now());
  };

  return {
    objects: mirror.objects,
    async readTip(signal) {
      if (refusal !== undefined && now() < refusal.until) throw refused(refusal, now());
      try {
        await prepare(signal);
        if (now() >= freshUntil) await refresh(signal);
        return (await mirror.objects.read(`${notesRef}^{commit}`, 0, signal))?.id;
      } catch (error) {
        throw isEphError(error) ? new EphError('report.failed', error.message, { cause: error }) : error;
      }
    },
    // Whether the remote still has the commit is not worth a request: a note on nothing is seen by nobody.
    hasCommit: () => Promise.resolve(true),
    async write(changes, tip, signal) {
      const input = computeNotesImport(changes, tip, now());
      const output = await mirror.run(notesImportArgs(await mirror.open()).slice(1), { signal, input });
      if (output.exitCode !== 0 && !isImportConflict(output.stderr)) {
        throw new EphError('report.failed', `The notes for ${shown} could not be prepared: ${gitMessage(output)}`);
      }
      if (output.exitCode === 0) return await push(tip, signal);
      freshUntil = Number.NEGATIVE_INFINITY;
      return false;
    },
  };
};

const refused = ({ until, message }: { readonly until: number; readonly message: string }, nowMs: number): EphError =>
  new EphError('report.failed', message, { retryAfterMs: Math.max(until - nowMs, 1_000) });
