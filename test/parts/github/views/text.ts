/** Times as GitHub writes them: to the second. */
export const iso = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

export const isoOrNull = (ms: number | undefined): string | null => (ms === undefined ? null : iso(ms));

export const nodeId = (kind: string, id: number | string): string => `${kind}_${Buffer.from(String(id)).toString('base64url')}`;

/** Segments may hold anything; slashes between them stay. */
export const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');
