import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/**
 * Connects a client and an upstream that agreed on a WebSocket. Bytes pass unread in both directions, each side may finish on its
 * own, and there is no timeout: silence is normal.
 *
 * `head` is what the client sent along with its request. It is forwarded only now, because an upstream that refuses would read it
 * as another request, past the gateway's routing.
 */
export const openTunnel = (client: Socket, head: Buffer, headers: readonly string[], upstream: Duplex): void => {
  client.setTimeout(0);
  upstream.allowHalfOpen = true;
  upstream.on('error', () => client.destroy());
  client.on('error', () => upstream.destroy());
  // Not at once: the client's last bytes may not be flushed yet.
  client.on('close', () => upstream.end(() => upstream.destroy()));

  client.write(renderSwitchingProtocols(headers), 'latin1');
  if (head.length > 0) client.unshift(head);
  client.pipe(upstream);
  upstream.pipe(client);
};

const renderSwitchingProtocols = (headers: readonly string[]): string => {
  let text = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n';
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return `${text}\r\n`;
};
