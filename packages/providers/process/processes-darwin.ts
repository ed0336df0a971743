import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import type { Processes, RunningProcess } from './processes.ts';
import { markerVariable } from './service-environment.ts';

const run = promisify(execFile);
const outputLimit = 64 * 1024 * 1024;
/** With a fixed locale, because the start time is compared as text. */
const plain = { env: { PATH: '/bin:/usr/bin:/usr/sbin:/sbin', LC_ALL: 'C' }, maxBuffer: outputLimit } as const;

/** macOS has no /proc, so this runs `ps`. */
export const createDarwinProcesses = (): Processes => ({
  bootId: execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], { ...plain, encoding: 'utf8' }).trim(),

  readStartTime(pid) {
    try {
      const line = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], { ...plain, encoding: 'utf8' }).trim();
      const [state = '', ...start] = line.split(/\s+/);
      return state === '' || state.startsWith('Z') ? undefined : start.join(' ');
    } catch {
      // `ps` exits with 1 when there is no such process.
      return undefined;
    }
  },

  async readAll() {
    const columns = 'pid=,pgid=,sess=,state=,lstart=,time=,rss=,command=';
    const { stdout } = await run('ps', ['-axEww', '-o', columns], plain);
    return parseTable(stdout);
  },
});

const row = /^\s*(\d+)\s+(\d+)\s+(\w+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]+\s+\d{4})\s+([\d:.-]+)\s+(\d+)\s?(.*)$/;

/** The session column of macOS is a memory address, so the group is used instead. */
export const parseTable = (text: string): readonly RunningProcess[] =>
  text.split('\n').flatMap((line) => {
    const fields = row.exec(line);
    if (fields === null) return [];
    const [, pid, group, , state = '', start = '', time = '', memory, command = ''] = fields;
    if (state.startsWith('Z')) return [];
    return {
      pid: Number(pid),
      group: Number(group),
      session: Number(group),
      startTime: start.split(/\s+/).join(' '),
      isInside: false,
      marker: new RegExp(`(?:^| )${markerVariable}=(\\S+)`).exec(command)?.[1],
      cpuSeconds: parseCpuTime(time),
      memoryBytes: Number(memory) * 1024,
    };
  });

/** `[[days-]hours:]minutes:seconds.hundredths` */
const parseCpuTime = (text: string): number => {
  const [clock = '', days = '0'] = text.split('-').toReversed();
  return clock.split(':').reduce((total, part) => total * 60 + Number(part), 0) + Number(days) * 86_400;
};
