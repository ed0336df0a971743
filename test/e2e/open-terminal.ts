import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

export interface Terminal extends Disposable {
  type(keys: string): void;
  press(key: string): void;
  resize(columns: number, rows: number): void;
  /** What it shows now. */
  screen(): string;
}

/** A terminal of tmux that runs a command. Disposing ends what runs on it. */
export const openTerminal = (folder: string, environment: NodeJS.ProcessEnv, command: string, columns = 90): Terminal => {
  const socket = join(folder, 'tmux');
  const env = { ...environment, TERM: 'xterm' };
  const run = (...args: string[]): string =>
    spawnSync('tmux', ['-f', '/dev/null', '-S', socket, ...args], { env, encoding: 'utf8' }).stdout;
  run('new-session', '-d', '-x', String(columns), '-y', '20', command);
  return {
    type: (keys) => void run('send-keys', '-l', keys),
    press: (key) => void run('send-keys', key),
    resize: (width, height) => void run('resize-window', '-x', String(width), '-y', String(height)),
    screen: () => run('capture-pane', '-p'),
    [Symbol.dispose]: () => void run('kill-server'),
  };
};
