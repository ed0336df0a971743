/**
 * Calls that a service does not need and that reach far into the kernel, with their numbers on x86-64 and arm64. They answer as if
 * the kernel did not have them, so programs fall back to something else.
 */
export const deniedCalls = {
  acct: [163, 89],
  add_key: [248, 217],
  bpf: [321, 280],
  delete_module: [176, 106],
  fanotify_init: [300, 262],
  finit_module: [313, 273],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fsopen: [430, 430],
  fspick: [433, 433],
  init_module: [175, 105],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
  kcmp: [312, 272],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  perf_event_open: [298, 241],
  pivot_root: [155, 41],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  ptrace: [101, 117],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  reboot: [169, 142],
  request_key: [249, 218],
  setns: [308, 268],
  swapoff: [168, 225],
  swapon: [167, 224],
  syslog: [103, 116],
  umount2: [166, 39],
  unshare: [272, 97],
  userfaultfd: [323, 282],
} as const satisfies Readonly<Record<string, readonly [x64: number, arm64: number]>>;

const prctl = [157, 167] as const;
const setsid = [112, 157] as const;

/** What `enter-sandbox.pl` calls, in its order. */
export const enteringCalls = (): readonly number[] =>
  [deniedCalls.setns, deniedCalls.unshare, prctl, setsid].map(([x64, arm64]) => (process.arch === 'arm64' ? arm64 : x64));

const architectures = {
  x64: { audit: 0xc000_003e, column: 0 },
  arm64: { audit: 0xc000_00b7, column: 1 },
} as const;

/** Instructions of classic BPF over `struct seccomp_data`, which begins with the number of the call and the architecture. */
const load = (offset: number) => instruction(0x20, 0, 0, offset);
const jumpIfEqual = (value: number, skip: number, otherwise = 0) => instruction(0x15, skip, otherwise, value);
const jumpIfAtLeast = (value: number, skip: number) => instruction(0x35, skip, 0, value);
const answer = (value: number) => instruction(0x06, 0, 0, value);

const allow = 0x7fff_0000;
const killProcess = 0x8000_0000;
/** ENOSYS. */
const noSuchCall = 0x0005_0000 + 38;
/** Numbers from here on are the x32 calls of x86-64, under which every call exists a second time. */
const secondTable = 0x4000_0000;

const instruction = (code: number, whenTrue: number, whenFalse: number, value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(whenTrue, 2);
  bytes.writeUInt8(whenFalse, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
};

export const hasFilter = (architecture: string): architecture is keyof typeof architectures =>
  Object.hasOwn(architectures, architecture);

/** A filter that the kernel runs before every call of a service. */
export const compileFilter = (architecture: keyof typeof architectures): Buffer => {
  const { audit, column } = architectures[architecture];
  const numbers = [...new Set(Object.values(deniedCalls).map((call) => call[column]))];
  return Buffer.concat([
    load(4),
    jumpIfEqual(audit, 1),
    answer(killProcess),
    load(0),
    jumpIfAtLeast(secondTable, numbers.length + 1),
    ...numbers.map((number, index) => jumpIfEqual(number, numbers.length - index)),
    answer(allow),
    answer(noSuchCall),
  ]);
};
