import { route } from '@eph/gateway';

export const publish = route;
