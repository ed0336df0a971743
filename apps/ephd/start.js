// Not TypeScript: what reads that would stay in memory, and every process that ephd starts would take longer.
import { enableCompileCache } from 'node:module';

const { HOME: home, XDG_CACHE_HOME: set } = process.env;
const cache = set || (home && `${home}/.cache`);
// In a folder of this user, because whoever can write there can run code here.
if (cache) enableCompileCache(`${cache}/eph/compiled`);

await import('./main.ts');
