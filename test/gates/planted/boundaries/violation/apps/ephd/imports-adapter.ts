import { store } from '@eph/adapters/store-sql/store';

export const keep = store;
