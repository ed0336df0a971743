export interface Port {
  readonly number: number;
  readonly name?: string;
}

export const first = (ports: readonly Port[]): Port | undefined => ports[0];
