import { write } from 'node:fs';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { type CommitSha, EphError, isEphError } from '@eph/contract';
import type { ExportLimits, TreeSource } from '../forge-git/tree-export.ts';
import { unwrap } from '../forge-http/answer.ts';
import { type ApiObjects, hashObject } from './api-objects.ts';
import { type BlobRange, createArchiveReader } from './archive-blobs.ts';
import type { GithubClient } from './github-client.ts';

export interface ArchiveOptions {
  readonly client: GithubClient;
  readonly objects: ApiObjects;
  readonly commit: CommitSha;
  /** Next to the target folder; removed when the source is disposed. */
  readonly file: string;
  readonly limits: ExportLimits;
}

/** A repository may exclude files from archives or change them; those are fetched one by one, up to this number. */
const maxSingleBlobs = 1_000;
const downloadLimitMs = 10 * 60_000;

/**
 * The tree of a commit in three requests and a download: trees come from the API, contents from an archive. Contents are
 * checked against their Git id, so the archive need not be trusted.
 */
export const createArchiveSource = ({ client, objects, commit, file, limits }: ArchiveOptions): TreeSource & AsyncDisposable => {
  let opened: Promise<Spool> | undefined;
  let singles = 0;

  const spool = (signal: AbortSignal): Promise<Spool> => (opened ??= download(client, commit, file, limits, signal));

  const countSingle = () => {
    singles += 1;
    if (singles > maxSingleBlobs)
      throw new EphError(
        'checkout.refused',
        `More than ${maxSingleBlobs} files of ${client.shown} are missing or changed in its archives; check .gitattributes for export-ignore, export-subst and eol.`,
      );
  };

  const readBlob = async (id: string, size: number, limitBytes: number, signal: AbortSignal) => {
    if (size > limitBytes) return { id, type: 'blob', size, content: undefined };
    const { handle, ranges } = await spool(signal);
    const range = ranges.get(id);
    if (range !== undefined) return { id, type: 'blob', size, content: await readRange(handle, range) };
    countSingle();
    return await objects.read(id, limitBytes, signal);
  };

  return {
    objects: {
      async read(id, limitBytes, signal) {
        const size = objects.blobSize(id);
        if (size !== undefined) return await readBlob(id, size, limitBytes, signal);
        const object = await objects.read(id, limitBytes, signal);
        if (object?.type === 'tree' && object.content !== undefined && hashObject('tree', object.content, id) !== id)
          throw new EphError('checkout.refused', `${client.shown} has a file whose name is not UTF-8; nothing was checked out.`);
        return object;
      },
      restart: () => undefined,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },

    async writeBlob(id, target, signal) {
      const { handle, ranges } = await spool(signal);
      const range = ranges.get(id);
      if (range !== undefined) return await copyRange(handle, range, target, signal);
      countSingle();
      const blob = await objects.read(id, limits.totalBytes, signal);
      if (blob?.content !== undefined) await writeAll(target, blob.content);
    },

    async [Symbol.asyncDispose]() {
      // The reader already got the error.
      const spooled = await opened?.catch(() => undefined);
      await spooled?.handle.close();
      await rm(file, { force: true });
    },
  };
};

interface Spool {
  readonly handle: FileHandle;
  readonly ranges: ReadonlyMap<string, BlobRange>;
}

const download = async (
  client: GithubClient,
  commit: CommitSha,
  file: string,
  limits: ExportLimits,
  signal: AbortSignal,
): Promise<Spool> => {
  const route = 'GET /repos/{owner}/{repo}/tarball/{ref}';
  const location = unwrap(await client.readLocation(route, { ref: commit }, signal));
  const { fetch } = await client.account();
  await mkdir(dirname(file), { recursive: true });
  await rm(file, { force: true });
  const handle = await open(file, 'wx+');
  try {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(downloadLimitMs)]);
    const reader = createArchiveReader(commit.length === 64 ? 'sha256' : 'sha1');
    await unpack(await openArchive(fetch, location, client.shown, deadline), handle, reader, limits, deadline);
    return { handle, ranges: reader.end() };
  } catch (error) {
    await handle.close();
    signal.throwIfAborted();
    throw downloadError(error, client.shown);
  }
};

/** Another server than the API, so without the token. The URL itself is a secret, and is never logged. */
const openArchive = async (
  fetch: typeof globalThis.fetch,
  location: string,
  shown: string,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> => {
  const response = await fetch(location, { signal });
  if (response.ok && response.body !== null) return response.body;
  await response.body?.cancel();
  throw new EphError('forge.unreachable', `${shown}: the download of its archive failed with status ${response.status}.`);
};

const unpack = async (
  packed: ReadableStream<Uint8Array>,
  handle: FileHandle,
  reader: ReturnType<typeof createArchiveReader>,
  limits: ExportLimits,
  signal: AbortSignal,
): Promise<void> => {
  // Every entry has a header and is padded to whole blocks.
  const limitBytes = limits.totalBytes + 2_048 * limits.entries;
  let bytes = 0;
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > limitBytes) return done(new EphError('checkout.refused', `The tree has more than ${limits.totalBytes} bytes.`));
      try {
        reader.add(chunk);
      } catch (error) {
        return done(error as Error);
      }
      writeAll(handle.fd, chunk).then(
        () => done(),
        (error: unknown) => done(error as Error),
      );
    },
  });
  await pipeline(Readable.fromWeb(packed as Parameters<typeof Readable.fromWeb>[0]), createGunzip(), sink, { signal });
};

const downloadError = (error: unknown, shown: string): unknown => {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (isEphError(error) || code === 'ENOSPC' || code === 'EDQUOT') return error;
  return new EphError('forge.unreachable', `${shown}: its archive could not be downloaded.`, { cause: error });
};

const readRange = async (handle: FileHandle, { offset, size }: BlobRange): Promise<Buffer> => {
  const content = Buffer.alloc(size);
  for (let done = 0; done < size; ) {
    const { bytesRead } = await handle.read(content, done, size - done, offset + done);
    if (bytesRead === 0) throw new EphError('checkout.failed', 'A downloaded archive was truncated.');
    done += bytesRead;
  }
  return content;
};

const copyBytes = 1024 * 1024;

const copyRange = async (handle: FileHandle, { offset, size }: BlobRange, target: number, signal: AbortSignal): Promise<void> => {
  for (let done = 0; done < size; done += copyBytes) {
    signal.throwIfAborted();
    await writeAll(target, await readRange(handle, { offset: offset + done, size: Math.min(copyBytes, size - done) }));
  }
};

const writeSome = promisify(write);

const writeAll = async (target: number, content: Buffer): Promise<void> => {
  for (let done = 0; done < content.length; ) done += (await writeSome(target, content, done)).bytesWritten;
};
