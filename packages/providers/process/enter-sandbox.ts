import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeHidden } from './hidden-file.ts';
import { appFolder, type Entered, type Entry } from './sandbox.ts';
import { enteringCalls } from './seccomp.ts';
import { markerVariable } from './service-environment.ts';
import { quote } from './shell.ts';

const program = fileURLToPath(new URL('enter-sandbox.pl', import.meta.url));

/** The last program before the command: the variables of the service could change what others do. */
const setVariables = [
  'open V, "<&=5"; open P, "<&=3"; %ENV = map { split /=/, $_, 2 } split /\\0/, join "", <V>;',
  'exec { $ARGV[0] } @ARGV; warn "$ARGV[0]: $!\\n"; exit($! == 2 ? 127 : 126)',
].join(' ');

const inTerminal = ({ columns, rows }: NonNullable<Entry['terminal']>, words: readonly string[]): readonly string[] => {
  const resizing = 'while read -r tty rows columns <&3; do stty -F "$tty" rows "$rows" columns "$columns"; done';
  const command = `exec perl -e ${quote(setVariables)} -- ${words.map(quote).join(' ')}`;
  const inner = `tty >&3; stty rows ${rows} columns ${columns}; ${command}`;
  // Not `exec`: the loop would be a child of script, which waits for its children.
  return ['/bin/sh', '-c', `${resizing} </dev/null >/dev/null 2>&1 & script -qefE always -c ${quote(inner)} /dev/null; exit $?`];
};

export const enterSandbox = (entry: Entry, filter: string, path: string): Entered => {
  const { words, terminal, variables, directory, marker, hasOwnNetwork } = entry;
  const flag = (is: boolean): string => (is ? '1' : '');
  const folder = join(appFolder, directory);
  return {
    script: `exec perl ${quote(program)} "$@" 6<${quote(filter)}`,
    words: [
      ...enteringCalls().map(String),
      flag(hasOwnNetwork),
      folder,
      flag(terminal !== undefined),
      ...(terminal === undefined ? words : inTerminal(terminal, words)),
    ],
    variables: { PATH: path, [markerVariable]: marker },
    input: writeHidden(Object.entries({ ...variables, PWD: folder }).map((variable) => variable.join('='))),
  };
};
