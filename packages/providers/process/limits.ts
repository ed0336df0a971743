/** Everything that waits, grows or is counted. Milliseconds and bytes. */
export interface Limits {
  /** Between TERM and KILL. */
  readonly graceMs: number;
  /** The first pause between two probes of a service that is not ready; pauses grow from here… */
  readonly probeFirstMs: number;
  /** …to here. */
  readonly probeSlowMs: number;
  /** How long one probe may take. */
  readonly probeTimeoutMs: number;
  /** Between two probes of a service that is ready. */
  readonly checkMs: number;
  /** A service without a probe counts as ready when it has lived this long: one that cannot even start must not take over. */
  readonly settleMs: number;
  /** The pause before a service that ended is started again; it doubles from here… */
  readonly restartFirstMs: number;
  /** …to here… */
  readonly restartMaxMs: number;
  /** …and begins anew once the service has lived this long. */
  readonly goodLifeMs: number;
  /** Of one log file; each instance keeps two. */
  readonly logBytes: number;
  /**
   * Where services listen. Outside the range from which the system serves outgoing connections and port 0, so that a port
   * that was free stays free until the service has bound it.
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
