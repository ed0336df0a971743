import { readSpec } from '@eph/engine/source/read-spec';

export const read = readSpec;
