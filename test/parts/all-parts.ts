import { bubblewrap } from './bubblewrap.ts';
import { busybox } from './busybox.ts';
import { chromium } from './chromium.ts';
import { cluster } from './cluster.ts';
import { coredns } from './coredns.ts';
import { faketime } from './faketime.ts';
import { fish } from './fish.ts';
import { gitea } from './gitea.ts';
import { go } from './go.ts';
import { nginx } from './nginx.ts';
import { node } from './node.ts';
import { openssl } from './openssl.ts';
import type { Program } from './part.ts';
import { passt } from './passt.ts';
import { postgres } from './postgres.ts';
import { python } from './python.ts';
import { registry } from './registry.ts';
import { schemathesis } from './schemathesis.ts';
import { script } from './script.ts';
import { secretService } from './secret-service.ts';
import { skopeo } from './skopeo.ts';
import { tmux } from './tmux.ts';
import { zsh } from './zsh.ts';

export const allParts: readonly Program[] = [
  postgres,
  nginx,
  gitea,
  bubblewrap,
  passt,
  python,
  go,
  tmux,
  chromium,
  openssl,
  secretService,
  schemathesis,
  zsh,
  fish,
  registry,
  skopeo,
  busybox,
  script,
  faketime,
  cluster,
  node,
  coredns,
];
