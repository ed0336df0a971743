import { z } from 'zod';
import { annotations, template } from '../scalars.ts';
import { section } from '../section.ts';

const schema = z
  .strictObject({
    metrics: z
      .strictObject({
        enabled: z.boolean().optional().describe('Whether pods get the annotations. Default `true`.'),
        annotations: annotations
          .optional()
          .describe('Annotations of pods that tell a collector where to look. What a manifest says itself stays.'),
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

const tracing = { enabled: [false] } as const;

export const observability = section({
  name: 'observability',
  schema,
  available: { metrics: { enabled: [false] }, tracing },
  beside: { section: 'kubernetes', available: { metrics: { enabled: true, annotations: true }, tracing } },
  verbatim: ['metrics.annotations'],
});
