import type { Provider } from '@eph/engine/provider/provider';

export const processProvider: Provider = { name: 'process' };
