import { store } from '../store-sql/store.ts';

export const keep = store;
