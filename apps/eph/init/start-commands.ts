import { parseJson } from '@eph/contract';

/** Longer than any command written by hand. */
const longest = 1_000;

/** Files are untrusted; only printable commands are proposed. */
export const isText = (text: string): boolean =>
  text.trim() !== '' && text.length <= longest && text.isWellFormed() && !/[\p{Cc}\ufffd]/u.test(text);

export interface ProcfileEntry {
  readonly name: string;
  readonly command: string;
}

const mostProcesses = 20;

/** `web` first. `release` is not a process but a step of a deployment. */
export const parseProcfile = (text: string): readonly ProcfileEntry[] => {
  const entries = text.split(/\r?\n/).flatMap((line) => {
    const [, name, command] = /^([A-Za-z0-9_-]{1,63}):\s*(\S.*)$/.exec(line.slice(0, longest)) ?? [];
    return name === undefined || command === undefined || name === 'release' || !isText(command)
      ? []
      : [{ name, command: command.trim() }];
  });
  const isWeb = ({ name }: ProcfileEntry): number => (name === 'web' ? 0 : 1);
  return entries.toSorted((a, b) => isWeb(a) - isWeb(b)).slice(0, mostProcesses);
};

/** The command of a Dockerfile: a list, or a line for `sh`. */
export const parseDockerCommand = (text: string): string | readonly string[] | undefined => {
  const lines = text.replace(/\\\r?\n/g, ' ').split(/\r?\n/);
  const last = (instruction: string): string | readonly string[] | undefined => {
    const line = lines.findLast((one) => one.trim().toUpperCase().startsWith(`${instruction} `));
    return line === undefined ? undefined : parseForm(line.trim().slice(instruction.length).trim());
  };
  const entry = last('ENTRYPOINT');
  const command = last('CMD');
  if (entry === undefined) return command;
  // Docker combines the two only in list form.
  return typeof entry === 'string' || typeof command === 'string' ? entry : [...entry, ...(command ?? [])];
};

const parseForm = (text: string): string | readonly string[] | undefined => {
  const list = text.startsWith('[') ? parseJson(text) : undefined;
  if (Array.isArray(list))
    return list.length > 0 && list.every((word) => typeof word === 'string' && isText(word)) ? list : undefined;
  return isText(text) ? text : undefined;
};
