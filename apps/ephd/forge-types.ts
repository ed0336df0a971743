import { z } from 'zod';
import type { ForgeType } from './forge-types/forge-type.ts';
import { gitea } from './forge-types/gitea.ts';
import { github } from './forge-types/github.ts';
import { gitlab } from './forge-types/gitlab.ts';

/** Every type of forge there is. A new one is an entry here. */
export const forgeTypes = { gitea, github, gitlab } as const satisfies Readonly<Record<string, ForgeType>>;
export type ForgeTypeName = keyof typeof forgeTypes;

export const webUrlOf = ({ type, url }: { readonly type: ForgeTypeName; readonly url: string }): string =>
  forgeTypes[type].webUrlOf(url);

const { gitea: first, ...others } = forgeTypes;

export const forgeSchema = z.discriminatedUnion('type', [first.schema, ...Object.values(others).map(({ schema }) => schema)]);
