import { advanced, testing } from './sections/advanced.ts';
import { database } from './sections/database.ts';
import { dockerCompose } from './sections/docker-compose.ts';
import { environment } from './sections/environment.ts';
import { hooks } from './sections/hooks.ts';
import { kubernetes } from './sections/kubernetes.ts';
import { networking } from './sections/networking.ts';
import { observability } from './sections/observability.ts';
import { process } from './sections/process.ts';
import { secrets } from './sections/secrets.ts';
import { security } from './sections/security.ts';
import { services } from './sections/services.ts';
import { triggers } from './sections/triggers.ts';

const contents = [process, kubernetes, dockerCompose, database, services] as const;
const settings = [secrets, security, networking, hooks, observability, advanced, testing] as const;

/** The sections of `eph.yaml`, in the order in which they are documented. */
export const shippedSections = [triggers, environment, ...contents, ...settings] as const;
