/**
 * Scripts for the shell of a container, in words that every one understands. The API of Kubernetes starts a command and cannot end it:
 * when the connection ends, or only the command itself, the node lets everything go on that it has started. So a command is found by
 * a variable that all of its processes inherit. Whatever takes that variable away, or may not be looked at, is not found.
 */
const variable = 'EPH_COMMAND';

/** Looks until there is none left: a process may start others meanwhile. Slow to read, but it needs no other program. */
const killAll = (files: readonly string[], mark: string): string => `
  round=0 found=1
  while [ -n "$found" ] && [ $round -lt 100 ]; do
    round=$((round + 1)) found=
    for one in /proc/[0-9]*; do
      pid=\${one#/proc/}
      [ "$pid" = $$ ] && continue
      for file in ${files.join(' ')}; do
        while read -r line || [ -n "$line" ]; do
          case $line in *${mark}*) kill -9 "$pid" && found=1; break ;; esac
        done < "$one/$file"
      done
    done
  done`;

/** What the script prints before the command runs, so that it is known to have a shell. */
export const begun = 1;

export interface CommandTerminal {
  readonly type: string;
  readonly columns: number;
  readonly rows: number;
}

/**
 * Runs a command, and when that exits, ends what it has left. `exec` in a shell of its own, because names may be those of builtins. What
 * the shells say themselves goes nowhere.
 */
export const wrapCommand = (id: string, command: readonly string[], terminal: CommandTerminal | undefined): readonly string[] => {
  const mark = `${variable}=${id}`;
  const { type, columns, rows } = terminal ?? { type: '', columns: 0, rows: 0 };
  // The size that the node is told may come too late for the first question.
  const setTerminal = terminal === undefined ? '' : `TERM=$1; export TERM; stty rows ${rows} columns ${columns} 2>/dev/null`;
  const script = `
  ${setTerminal}
  shift
  trap : INT QUIT HUP TERM
  exec 3>&2 2>/dev/null
  printf '\\001'
  ${mark}; export ${variable}
  (exec "$@" 2>&3 3>&-)
  code=$?
  ${killAll(['environ'], mark)}
  exit $code`;
  return ['sh', '-c', script, 'sh', type, ...command];
};

/** Ends such a command. Also one that has not begun yet, whose words hold the mark. */
export const endCommand = (id: string): readonly string[] => [
  'sh',
  '-c',
  `exec 2>/dev/null; ${killAll(['environ', 'cmdline'], `${variable}=${id}`)}`,
];
