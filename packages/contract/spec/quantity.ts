/** As Kubernetes writes amounts: `100m` is a tenth, `4Gi` are 4 × 2³⁰, `1e3` a thousand. */
const suffixes = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
} as const;

const form = /^(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i))?$/;

/** The amount as a number: cores for processor time, bytes for memory; undefined when it is not one. */
export const parseQuantity = (text: string): number | undefined => {
  const match = form.exec(text);
  if (match === null) return undefined;
  const amount = Number(`${match[1]}${match[2] ?? ''}`) * suffixes[(match[3] ?? '') as keyof typeof suffixes];
  return Number.isFinite(amount) ? amount : undefined;
};
