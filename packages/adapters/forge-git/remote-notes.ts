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
  readonly prepare: (signal: AbortSignal) => Promise<void>;
}

/** Notes of others are seen after this time at the latest; until then an unchanged report costs no request. */
const freshMs = 30_000;
/** How long a remote that refused a push is not asked again. */
const refusedMs = 10 * 60_000;

/** Notes of a remote: fetched into the mirror, changed there, and pushed with a lease. */
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
    // The mirror is ahead of the remote now; the next reading fixes that.
    freshUntil = Number.NEGATIVE_INFINITY;
    if (isPushConflict(output)) return false;
    throw pushError(output);
  };

  const pushError = (output: GitOutput): EphError => {
    const declined = rejectionReason(output);
    const error = gitError(output, shown);
    const message = `The status cannot be written to ${notesRef} of ${shown}: ${declined ?? gitMessage(output)}`;
    if (declined === undefined && error.code !== 'forge.refused') return new EphError('report.failed', message, { cause: error });
    refusal = { until: now() + refusedMs, message: `${message} Allow Eph to push there, or disable reports.` };
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
    // Not worth a request: a note on a missing commit is visible to nobody.
    hasCommit: () => Promise.resolve(true),
    async write(changes, tip, signal) {
      const input = computeNotesImport(changes, tip, now());
      const output = await mirror.run(notesImportArgs, { signal, input });
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
