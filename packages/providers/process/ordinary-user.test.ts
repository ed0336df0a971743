import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { bubblewrap } from '../../../test/parts/bubblewrap.ts';
import { describeWith } from '../../../test/parts/describe-with.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
/** Of nobody. */
const user = 61_234;

/** Root has no sandbox, so all suites of this provider run a second time. */
describeWith(bubblewrap, 'the provider of an ordinary user', () => {
  it.skipIf(process.getuid?.() !== 0)(
    'everything holds for an ordinary user, whose services are confined',
    { timeout: 600_000 },
    async () => {
      const home = mkdtempSync(join(tmpdir(), 'eph-user-'));
      onTestFinished(() => rmSync(home, { recursive: true, force: true }));
      chownSync(home, user, user);
      const vitest = join(root, 'node_modules/vitest/vitest.mjs');
      const child = spawn(process.execPath, [vitest, 'run', '--configLoader', 'native', 'packages/providers/process'], {
        cwd: root,
        uid: user,
        gid: user,
        env: { PATH: process.env.PATH, HOME: home, TMPDIR: home, EPH_PARTS: process.env.EPH_PARTS },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
      expect(code, output + errors).toBe(0);
      expect(output).toContain('sandbox.test.ts');
    },
  );
});
