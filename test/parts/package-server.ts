import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface PackageServer extends Disposable {
  /** `package.json` and `package-lock.json` of an application that needs all the packages. */
  readonly files: Readonly<Record<string, string>>;
}

/** Serves packages as a registry of npm does. Each exports its own name. The folder is for what it makes of them. */
export const servePackages = async (folder: string, names: readonly string[]): Promise<PackageServer> => {
  const archives = new Map(names.map((name) => [`/${name}.tgz`, pack(folder, name)]));
  const server = createServer((request, response) => {
    const archive = archives.get(request.url ?? '');
    response.statusCode = archive === undefined ? 404 : 200;
    response.end(archive);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const root = {
    name: 'shop',
    version: '1.0.0',
    private: true,
    dependencies: Object.fromEntries(names.map((name) => [name, '1.0.0'])),
  };
  const locked = names.map((name): [string, object] => [
    `node_modules/${name}`,
    { version: '1.0.0', resolved: `http://127.0.0.1:${port}/${name}.tgz`, integrity: digest(archives.get(`/${name}.tgz`)) },
  ]);
  const lock = { name: 'shop', version: '1.0.0', lockfileVersion: 3, packages: { '': root, ...Object.fromEntries(locked) } };
  return {
    files: { 'package.json': JSON.stringify(root), 'package-lock.json': JSON.stringify(lock) },
    [Symbol.dispose]: () => void server.close(),
  };
};

const digest = (archive: Buffer = Buffer.alloc(0)): string => `sha512-${createHash('sha512').update(archive).digest('base64')}`;

const filesOfPackage = 10;

const pack = (folder: string, name: string): Buffer => {
  const source = join(folder, 'packages', name, 'package');
  mkdirSync(source, { recursive: true });
  writeFileSync(join(source, 'package.json'), JSON.stringify({ name, version: '1.0.0', type: 'module', main: 'index.js' }));
  for (let file = 0; file < filesOfPackage; file += 1)
    writeFileSync(join(source, `part-${file}.js`), `export const part = ${file};\n`);
  writeFileSync(join(source, 'index.js'), `export default '${name}';\n`);
  return execFileSync('tar', ['-C', join(folder, 'packages', name), '-czf', '-', 'package']);
};
