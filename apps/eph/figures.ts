const units: readonly [string, number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
];

/** In the largest unit: 3 days and 4 hours are `3d`. */
export const formatAge = (since: string | null, now: number): string => {
  const seconds = since === null ? Number.NaN : Math.floor((now - Date.parse(since)) / 1_000);
  if (Number.isNaN(seconds)) return '';
  for (const [unit, size] of units) if (seconds >= size) return `${Math.floor(seconds / size)}${unit}`;
  return `${Math.max(0, seconds)}s`;
};

export const formatBytes = (bytes: number): string => {
  if (bytes < 1024) return `${bytes} B`;
  const kibibytes = bytes / 1024;
  if (kibibytes < 1024) return `${Math.round(kibibytes)} KiB`;
  const mebibytes = kibibytes / 1024;
  return mebibytes < 1024 ? `${Math.round(mebibytes)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`;
};

export const formatCpu = ({
  cpuSeconds,
  cpuCores,
}: {
  readonly cpuSeconds: number | null;
  readonly cpuCores: number | null;
}): string => {
  if (cpuCores !== null) return `${cpuCores.toFixed(cpuCores < 1 ? 3 : 1)} cores`;
  if (cpuSeconds === null) return '';
  return cpuSeconds < 100 ? `${cpuSeconds.toFixed(1)} s` : `${Math.round(cpuSeconds)} s`;
};

export const formatTime = (time: string | number): string => {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : `${date.toISOString().slice(0, 19)}Z`;
};

export const shortCommit = (commit: string | null | undefined): string => commit?.slice(0, 8) ?? '';

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
