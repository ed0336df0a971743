export const defaultLimits = {
  /** Between SIGTERM and SIGKILL. */
  graceMs: 5_000,
  /** The first pause between two probes of a service that is not ready; pauses grow… */
  probeFirstMs: 4,
  /** …up to this. */
  probeSlowMs: 250,
  probeTimeoutMs: 3_000,
  /** Between two probes of a service that is ready. */
  checkMs: 10_000,
  /** A service without a probe is ready after this time, so that one that cannot start never takes over. */
  settleMs: 300,
  /** The pause before a restart; it doubles from here… */
  restartFirstMs: 200,
  /** …up to this… */
  restartMaxMs: 30_000,
  /** …and is reset once the service has run this long. */
  goodLifeMs: 60_000,
  /** Of one log file; each instance keeps two. */
  logBytes: 5 * 1024 * 1024,
  /**
   * Where services listen. Outside the system's range of ephemeral ports, so that a free port stays free until the service has
   * bound it.
   */
  ports: { first: 20_000, last: 29_999 },
};

export type Limits = Readonly<typeof defaultLimits>;
