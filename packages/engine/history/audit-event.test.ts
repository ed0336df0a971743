import { environmentId, projectId, redactEvent } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { type AuditRecord, createAuditEvent } from './audit-event.ts';

const record: AuditRecord = {
  at: '2026-01-05T09:00:00.000Z',
  what: 'change',
  person: 'https://id.example#alice',
  how: 'token',
  tokenId: 'k3j9',
  permission: 'release',
  method: 'POST',
  route: '/api/v1/environments/{id}/release',
  project: projectId('shop'),
  environment: environmentId('00000000000000aa'),
  name: 'shop-serene-ocean-4207',
  outcome: 'done',
  reason: null,
  requestId: 'r-1',
  address: '192.0.2.7',
};

describe('an audit event', () => {
  it('says who did what, how, to what, from where, and with which outcome', () => {
    const event = createAuditEvent(record);
    expect(event).toEqual({
      at: record.at,
      type: 'audit.changed',
      project: 'shop',
      environment: '00000000000000aa',
      message: 'https://id.example#alice: POST /api/v1/environments/{id}/release for shop-serene-ocean-4207: done',
      details: {
        what: 'change',
        person: 'https://id.example#alice',
        how: 'token',
        tokenId: 'k3j9',
        permission: 'release',
        method: 'POST',
        route: '/api/v1/environments/{id}/release',
        name: 'shop-serene-ocean-4207',
        outcome: 'done',
        reason: null,
        requestId: 'r-1',
        address: '192.0.2.7',
      },
    });
    expect(redactEvent(event)).toEqual(event);
  });

  it.each<readonly [Partial<AuditRecord>, string, string]>([
    [{ what: 'sign-in', project: null, environment: null, name: null }, 'audit.signed_in', '{id}/release: done'],
    [{ what: 'sign-in', outcome: 'refused', reason: 'the code is used' }, 'audit.refused', ': refused, the code is used'],
    [{ outcome: 'refused', reason: 'needs operator' }, 'audit.refused', ': refused, needs operator'],
    [{ outcome: 'failed', reason: 'store.unreachable' }, 'audit.changed', ': failed, store.unreachable'],
    [{ environment: null, name: null }, 'audit.changed', ' for shop: done'],
    [{ person: null, how: 'none', tokenId: null }, 'audit.changed', 'somebody: POST'],
    [{ person: null, how: 'forge', tokenId: null }, 'audit.changed', 'somebody on the forge: POST'],
  ])('of %j has the type %s', (more, type, message) => {
    expect(createAuditEvent({ ...record, ...more })).toMatchObject({ type, message: expect.stringContaining(message) });
  });
});
