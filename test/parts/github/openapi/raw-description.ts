/** A schema of the description as it was published: only walked and handed to the validators. */
export type RawSchema = Readonly<Record<string, unknown>>;

export interface Reference {
  readonly $ref: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: RawSchema;
  /** The parameter may hold slashes, as branch names and paths do. */
  readonly 'x-multi-segment'?: boolean;
}

export interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: RawSchema }>>;
}

export interface RawOperation {
  readonly operationId: string;
  readonly externalDocs?: { readonly url: string };
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: Content & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Content | Reference>>;
}

export interface RawDescription {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly 'x-webhooks': Readonly<Record<string, { readonly post: RawOperation }>>;
  readonly components: {
    readonly schemas: Record<string, RawSchema>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, Content>>;
  };
}
