export interface Limits {
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** The first pause between two probes of a service that is not ready; pauses grow… */
  readonly probeFirstMs: number;
  /** …up to this. */
  readonly probeSlowMs: number;
  readonly probeTimeoutMs: number;
  /** Between two probes of a service that is ready. */
  readonly checkMs: number;
  /** A service without a probe is ready after this time, so that one that cannot start never takes over. */
  readonly settleMs: number;
  /** The pause before a restart; it doubles from here… */
  readonly restartFirstMs: number;
  /** …up to this… */
  readonly restartMaxMs: number;
  /** …and is reset once the service has run this long. */
  readonly goodLifeMs: number;
  /** Of one log file; each instance keeps two. */
  readonly logBytes: number;
  /**
   * Where services listen. Outside the system's range of ephemeral ports, so that a free port stays free until the service has
   * bound it.
   */
  readonly ports: { readonly first: number; readonly last: number };
}

export const defaultLimits: Limits = {
  graceMs: 5_000,
  probeFirstMs: 4,
  probeSlowMs: 250,
  probeTimeoutMs: 3_000,
  checkMs: 10_000,
  settleMs: 300,
  restartFirstMs: 200,
  restartMaxMs: 30_000,
  goodLifeMs: 60_000,
  logBytes: 5 * 1024 * 1024,
  ports: { first: 20_000, last: 29_999 },
};
