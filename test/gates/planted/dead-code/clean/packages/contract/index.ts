import { z } from 'zod';

export const projectId = z.string();
export const offeredToOthers = true;
