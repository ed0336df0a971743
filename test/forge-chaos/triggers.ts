/** How a pull request asks for an environment, as its `eph.yaml` says. */
export type TriggerKind = 'label' | 'ready' | 'command';

export const triggerKinds: readonly [TriggerKind, ...TriggerKind[]] = ['label', 'ready', 'command'];

export const label = 'preview';
export const command = '/deploy';

const triggers: { readonly [trigger in TriggerKind]: string } = {
  label: `{ type: pr_label, labels: [${label}] }`,
  ready: '{ type: auto, ignore_draft: true }',
  command: `{ type: pr_comment, pattern: ${command} }`,
};

export const specOf = (trigger: TriggerKind): string => `version: "1.0"
name: shop
triggers: [${triggers[trigger]}]
process:
  services:
    web: { command: run web }
`;
