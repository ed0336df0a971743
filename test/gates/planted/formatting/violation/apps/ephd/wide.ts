export const names = ['component', 'environment', 'project', 'source', 'trigger', 'revision', 'forge', 'provider', 'report', 'event', 'phase', 'condition'];
