import { join } from 'node:path';
import { answering, archiveFiles } from '../parts/node-image.ts';
import type { NodeAccess } from '../parts/node-server.ts';
import { OciLayout } from '../parts/oci-layout.ts';
import type { RunningRegistry } from '../parts/registry.ts';
import { copyToRegistry } from '../parts/skopeo.ts';

/**
 * An image that answers requests for `/` on port 8080 with what `ANSWER` is set to: in the registry, where ephd looks for it, and on the
 * node, which can pull nothing. Returns its name with the digest.
 *
 * @param folder is written to
 */
export const publishAnswer = async (
  node: NodeAccess,
  registry: Pick<RunningRegistry, 'host'>,
  folder: string,
): Promise<string> => {
  const name = `${registry.host}/acme/web`;
  const execution = answering('apples');
  const layout = new OciLayout(join(folder, 'layout'));
  const digest = layout.addImage('one', { files: await archiveFiles(), execution });
  await copyToRegistry({ folder: layout.folder, tag: 'one' }, `${name}:one`);
  const loaded = await node.loadImage(name, 'one', execution);
  if (loaded !== `${name}@${digest}`) throw new Error(`the node has ${loaded}, and the registry ${digest}`);
  return loaded;
};
