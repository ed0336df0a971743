import { z } from 'zod';
import { annotations, template } from '../scalars.ts';

const schema = z
  .strictObject({
    metrics: z
      .strictObject({
        enabled: z.boolean().optional().describe('Whether figures are collected.'),
        annotations: annotations.optional().describe('Annotations that tell a collector where to look.'),
      })
      .optional()
      .describe('Figures.'),
    tracing: z
      .strictObject({
        enabled: z.boolean().optional().describe('Whether requests are followed through services.'),
        propagate_context: z.boolean().optional().describe('Whether the gateway hands on the context of a trace.'),
      })
      .optional()
      .describe('Traces of requests.'),
    logs: z
      .strictObject({
        ship_to: template('observability.logs.ship_to', 500).optional().describe('Where logs are sent, or `stdout`.'),
        include_pod_logs: z.boolean().optional().describe('Whether what the services print belongs to it.'),
      })
      .optional()
      .describe('Logs.'),
  })
  .describe('What can be seen of a running environment.');

const available = { metrics: { enabled: [false] }, tracing: { enabled: [false] } } as const;
export const observability = { name: 'observability', schema, available, verbatim: ['metrics.annotations'] } as const;
