import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { socketOf } from './connections.fake.ts';
import { Connections } from './connections.ts';

const addMany = (connections: Connections, address: string, count: number): readonly Socket[] =>
  Array.from({ length: count }, (_, index) => {
    const socket = socketOf(address, index);
    connections.add(socket);
    return socket;
  });

const closed = (sockets: readonly Socket[]): number => sockets.filter(({ destroyed }) => destroyed).length;

describe('connections of callers that are not known', () => {
  it('are 2,000 at most: the oldest is closed', () => {
    const flood = addMany(new Connections(), '198.51.100.1', 2_010);
    expect([closed(flood), closed(flood.slice(0, 10))]).toEqual([10, 10]);
  });

  it('are closed at the address that has most of them', () => {
    const connections = new Connections();
    const early = addMany(connections, '203.0.113.1', 100);
    const flood = addMany(connections, '198.51.100.1', 5_000);
    const late = addMany(connections, '203.0.113.2', 100);
    expect([closed(early), closed(flood), closed(late)]).toEqual([0, 3_200, 0]);
  });

  it('do not count any more once the caller is known, or they are closed', async () => {
    const connections = new Connections();
    const known = addMany(connections, '198.51.100.1', 1_000);
    for (const socket of known) connections.prove(socket);
    const gone = addMany(connections, '203.0.113.1', 1_000);
    await Promise.all(gone.map((socket) => once(socket.destroy(), 'close')));
    const flood = addMany(connections, '198.51.100.2', 2_001);
    expect([closed(known), closed(flood)]).toEqual([0, 1]);
  });
});
