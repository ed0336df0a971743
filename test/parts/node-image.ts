import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { unpackedPackage } from './debian-package.ts';

const execute = promisify(execFile);

/** Links to nothing, so that it runs in an image where there is nothing else. */
const staticBusybox = (): string => join(unpackedPackage('busybox-static'), 'bin', 'busybox');

/** `httpd` prints what it is asked for. */
const answer = `#!/bin/sh
mkdir -p /tmp/www
echo "$ANSWER" > /tmp/www/index.html
httpd -f -vv -p "$PORT" -h /tmp/www &
server=$!
trap 'kill $server; exit 0' TERM INT
wait $server
`;

/** How the image runs that answers HTTP requests for `/` with the text in `ANSWER`, and prints each. */
export const answering = (text: string) => ({
  Entrypoint: ['/bin/sh', '/answer'],
  Env: ['PATH=/bin', `ANSWER=${text}`, 'PORT=8080'],
  ExposedPorts: { '8080/tcp': {} },
  // A number, which can be seen not to be root.
  User: '1000:1000',
});

/** A shell with its tools, which know no names of hosts, and the program that answers. */
export const putAnswer = async (files: string): Promise<void> => {
  const bin = join(files, 'bin');
  await mkdir(bin);
  await mkdir(join(files, 'tmp'));
  await chmod(join(files, 'tmp'), 0o1777);
  await copyFile(staticBusybox(), join(bin, 'busybox'));
  const { stdout: tools } = await execute(staticBusybox(), ['--list']);
  for (const tool of tools.trim().split('\n')) if (tool !== 'busybox') await symlink('busybox', join(bin, tool));
  await writeFile(join(files, 'answer'), answer, { mode: 0o755 });
};

/** An archive of what is put into a folder; by default, of the program that answers. Two archives of the same are the same. */
export const archiveFiles = async (put: (files: string) => Promise<void> = putAnswer): Promise<Buffer> => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-image-'));
  try {
    const files = join(folder, 'files');
    await mkdir(files);
    await put(files);
    const archive = join(folder, 'files.tar');
    const constant = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=ustar'];
    await execute('tar', [...constant, '-cf', archive, '-C', files, '.']);
    return await readFile(archive);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
