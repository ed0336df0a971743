import type { Telemetry } from './telemetry.ts';

export const silentTelemetry: Telemetry = {
  began: () => {},
  ended: () => {},
  passFinished: () => {},
  projectRead: () => {},
  acted: () => {},
  statusChanged: () => {},
  failed: () => {},
};
