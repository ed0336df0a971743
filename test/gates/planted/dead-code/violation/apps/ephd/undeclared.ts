import { projectId } from '@eph/contract';
import { z } from 'zod';

export const check = (text: string): unknown => z.parse(projectId, text);
