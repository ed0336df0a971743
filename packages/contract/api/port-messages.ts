import { z } from 'zod';
import { whole } from './query-values.ts';

export const portQuerySchema = z.strictObject({
  component: z.string().min(1).max(63).optional().describe('Of this component; the one that answers requests without it.'),
  port: whole(1, 65_535).describe('A TCP port that it listens on.'),
});
export type PortQuery = z.output<typeof portQuerySchema>;

/**
 * The protocol to ask for. Its binary messages are what one side of the connection sends; an empty one, which only a client sends, says
 * that nothing more comes from there. ephd closes it when the component does. The reason why ephd ends it is a message in text before
 * that, in JSON: `code`, `message` and `hint`. Each side reads no more than it passes on.
 */
export const portProtocol = 'eph.port.v1';
