import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ValidationView } from '@eph/contract';
import { CommandFailure } from '../command-failure.ts';
import { renderNotices, renderSentences } from '../config-view.ts';
import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { count } from '../figures.ts';
import type { Output } from '../output.ts';
import { safeLine } from '../safe-text.ts';
import { excerpt, splitLines } from '../source-excerpt.ts';

export interface ValidateOptions {
  readonly project?: string;
}

/**
 * ephd reads no more, and closes the connection on whoever sends more. Stands here too because the parser, which has the number, is large
 * and is not needed for this.
 */
export const largestBytes = 256 * 1024;

/** @param name a file, or `-` for standard input */
export const configValidate = async (context: Context, name: string, { project }: ValidateOptions): Promise<ExitCode> => {
  const { client, out, print, folder, stdin } = context;
  const file = name === '-' ? 'standard input' : name;
  const bytes = name === '-' ? await readUpToLimit(stdin(), file) : await readSpecFile(resolve(folder(), name), file);
  const validation = await client.validateConfig({ body: bytes, query: { file, project } });
  await print(validation, () => renderValidation(out, file, bytes, validation));
  return validation.valid ? exitCodes.ok : exitCodes.invalid;
};

const readSpecFile = async (path: string, file: string): Promise<Uint8Array> => {
  try {
    await using handle = await open(path);
    return await readUpToLimit(handle.createReadStream({ autoClose: false }), file);
  } catch (error) {
    throw error instanceof CommandFailure ? error : unreadable(error as NodeJS.ErrnoException, file);
  }
};

const unreadable = (error: NodeJS.ErrnoException, file: string): CommandFailure => {
  if (error.code !== 'ENOENT')
    return new CommandFailure('cli.unreadable', `${file} cannot be read: ${error.message}.`, { cause: error });
  const advice =
    file === 'eph.yaml' ? '`eph init` makes one, or name another file.' : 'Look at the name, or make a file with `eph init`.';
  return new CommandFailure('cli.no_file', `There is no file ${file} here. ${advice}`, { exitCode: exitCodes.notFound });
};

const readUpToLimit = async (chunks: AsyncIterable<Uint8Array>, file: string): Promise<Uint8Array> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.byteLength;
    if (size > largestBytes)
      throw new CommandFailure('cli.too_large', `${file} has more than ${largestBytes} bytes; ephd reads no more.`, {
        exitCode: exitCodes.invalid,
      });
    parts.push(chunk);
  }
  return Buffer.concat(parts);
};

const renderValidation = (out: Output, file: string, bytes: Uint8Array, validation: ValidationView): string[] => {
  const { valid, faults, notices } = validation;
  const source = splitLines(bytes);
  return [
    ...faults.flatMap(({ line, column, path, message }) => [
      safeLine([`${file}:${line}:${column}`, path, message].filter(Boolean).join(': ')),
      ...excerpt(source, line, column).map((one) => out.paint('faint', one)),
    ]),
    ...renderSentences(out, validation),
    ...renderNotices(out, file, notices),
    out.paint(valid ? 'good' : 'bad', safeLine(summarize(file, validation))),
  ];
};

const summarize = (file: string, { valid, faults, problems, violations }: ValidationView): string => {
  if (valid) return `${file} is valid.`;
  const counted = [
    ...(faults.length === 0 ? [] : [count(faults.length, 'fault')]),
    ...(problems.length === 0 ? [] : [count(problems.length, 'problem')]),
    ...(violations.length === 0 ? [] : [`${count(violations.length, 'limit')} exceeded`]),
  ];
  return `${file} is not valid${counted.length === 0 ? '' : `: ${counted.join(', ')}`}.`;
};
