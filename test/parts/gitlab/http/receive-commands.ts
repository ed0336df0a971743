/** One ref that a push wants to move; forty zeros stand for none. */
export interface RefCommand {
  readonly ref: string;
  readonly before: string;
  readonly after: string;
}

/** The commands before the pack. https://git-scm.com/docs/pack-protocol#_reference_update_request_and_packfile_transfer */
export const parseCommands = (body: Buffer): readonly RefCommand[] => {
  const commands: RefCommand[] = [];
  for (let at = 0; at + 4 <= body.length; ) {
    const length = Number.parseInt(body.toString('latin1', at, at + 4), 16);
    // A flush packet, or an invalid packet line, which Git itself rejects.
    if (!(length > 4)) break;
    const [line = ''] = body.toString('utf8', at + 4, at + length).split(/[\0\n]/u);
    const [, before, after, ref] = /^([0-9a-f]{40}) ([0-9a-f]{40}) (.+)$/u.exec(line) ?? [];
    if (before !== undefined && after !== undefined && ref !== undefined) commands.push({ ref, before, after });
    at += length;
  }
  return commands;
};
