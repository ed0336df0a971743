export const readToken = (): string | undefined => process.env['EPH_TOKEN'];
