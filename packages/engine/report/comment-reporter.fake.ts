import { answerMarker, type EnvironmentId, EphError, isMarkedComment, sourceKey } from '@eph/contract';
import type { Report, Reporter } from './reporter.ts';

interface FakeComment {
  readonly id: string;
  readonly author: 'eph' | 'somebody';
  body: string;
}

/** Pull requests in memory; they outlive a daemon. */
export class FakePulls {
  connected = true;
  writes = 0;
  readonly #comments = new Map<string, FakeComment[]>();
  #ids = 0;

  comments(pull: string): FakeComment[] {
    const comments = this.#comments.get(pull) ?? [];
    this.#comments.set(pull, comments);
    return comments;
  }

  comment(pull: string, author: FakeComment['author'], body: string): string {
    this.#ids += 1;
    const id = String(this.#ids);
    this.comments(pull).push({ id, author, body });
    return id;
  }

  remove(pull: string, id: string): void {
    const comments = this.comments(pull);
    comments.splice(
      comments.findIndex((comment) => comment.id === id),
      1,
    );
  }
}

/** A reporter that comments. It knows what it has written since it started, so that deleted comments stay deleted. */
export const fakeCommentReporter = (pulls: FakePulls, shown: (report: Report) => string): Reporter => {
  const written = new Set<EnvironmentId>();
  return {
    ensure: (report) => {
      if (!pulls.connected) return Promise.reject(new EphError('report.failed', 'the forge does not answer'));
      const pull = sourceKey(report.source);
      const body = shown(report);
      const isOurs = (comment: FakeComment): boolean =>
        comment.author === 'eph' && isMarkedComment(comment.body, report.environment);
      const ours = pulls.comments(pull).find(isOurs);
      if (ours === undefined && written.has(report.environment)) return Promise.resolve();
      written.add(report.environment);
      if (ours?.body === body) return Promise.resolve();
      pulls.writes += 1;
      if (ours === undefined) pulls.comment(pull, 'eph', body);
      else ours.body = body;
      return Promise.resolve();
    },
    answer: ({ source, command, text }) => {
      const [pull, marker] = [sourceKey(source), answerMarker(command)];
      const isAnswered = pulls.comments(pull).some(({ author, body }) => author === 'eph' && body.startsWith(marker));
      if (!isAnswered) pulls.comment(pull, 'eph', `${marker}\n${text}`);
      return Promise.resolve();
    },
  };
};
