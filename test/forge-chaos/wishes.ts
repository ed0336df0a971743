/** How a pull request asks for an environment, as its `eph.yaml` says. */
export type Wish = 'label' | 'ready' | 'command';

export const wishes: readonly [Wish, ...Wish[]] = ['label', 'ready', 'command'];

export const label = 'preview';
export const command = '/deploy';

const triggers: { readonly [wish in Wish]: string } = {
  label: `{ type: pr_label, labels: [${label}] }`,
  ready: '{ type: auto, ignore_draft: true }',
  command: `{ type: pr_comment, pattern: ${command} }`,
};

export const specOf = (wish: Wish): string => `version: "1.0"
name: shop
triggers: [${triggers[wish]}]
process:
  services:
    web: { command: run web }
`;
