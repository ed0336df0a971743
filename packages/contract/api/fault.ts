import { z } from 'zod';

export const faultSchema = z.object({ code: z.string(), message: z.string() });
