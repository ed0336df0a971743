export interface Provider {
  readonly name: string;
}
