import { expect, it } from 'vitest';
import { GithubEmulator } from '../parts/github/github-emulator.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { appWith, describeImages, imagesCondition, why } from './image-app.ts';
import { ImageRegistry, startWithRegistry } from './image-registry.ts';
import { textsOf } from './labelled-app.ts';

const triggers = [
  { type: 'pr_label', labels: ['preview'], wait_for_checks: ['build'] },
  { type: 'pr_comment', patterns: ['/deploy'] },
];

/** An ephd that knows a repository on GitHub, and a registry. */
const setUp = async (stack: AsyncDisposableStack, entry: Readonly<Record<string, unknown>>) => {
  const images = stack.use(await ImageRegistry.start());
  let ahead = 0;
  const github = stack.use(await GithubEmulator.start({ now: () => Date.now() + ahead }));
  const harness = stack.use(await EphdHarness.create());
  for (const name of ['alice', 'mallory']) github.createUser(name);
  const repository = images.repository('acme/shop');
  const files = textsOf(appWith({ repository, ...entry }, {}, { triggers }));
  const source = github.createRepository('alice/shop', { files, by: 'alice' });
  const options = {
    settings: {
      forges: { work: { type: 'github', url: github.url, token: { from: 'TOKEN' } } },
      projects: [{ name: 'shop', trusted: true, forks: 'approve', forge: 'work', location: 'alice/shop' }],
    },
    env: { TOKEN: github.createToken({ by: 'alice' }) },
  };
  const ephd = await startWithRegistry(harness, images, options);
  const restart = async () => {
    await ephd.stop();
    await startWithRegistry(harness, images, options);
  };
  const wake = () => harness.api('/hooks/git', { method: 'POST' });
  /** The times of GitHub have whole seconds, and a comment counts only if it is later than the push. */
  const letSecondPass = (): void => void (ahead += 1_000);
  return { images, github, harness, repository, source, wake, letSecondPass, restart };
};

describeImages('images in a real registry', () => {
  it('are named by a check that the trigger waits for, and by a comment', { timeout: 240_000 }, async () => {
    await using stack = new AsyncDisposableStack();
    const { images, github, harness, repository, source, wake, letSecondPass, restart } = await setUp(stack, {
      fallback_behavior: 'wait',
    });
    const commit = source.push('work', { 'work.txt': '1' }, { by: 'alice' });
    const pull = source.openPullRequest({ head: 'work', base: 'main', title: 'Work', by: 'alice' });
    const described = await images.publish('acme/shop', 'described');
    pull.label('preview', { by: 'alice' });
    await wake();
    const ref = String(pull.number);
    await harness.until(ref, 'waits for its check', ({ summary }) => summary.includes('check build has not succeeded yet'), 60);
    source.setStatus(commit, 'success', { context: 'build', description: `eph-image: ${repository}:described` });
    await wake();
    const { name } = await harness.untilReady(ref, commit, 60);
    expect((await harness.visit(name)).body).toBe(described);

    const app = github.createApp();
    for (const part of ['summary', 'text']) {
      const tag = `of-${part}`;
      const reference = await images.publish('acme/shop', tag);
      const next = source.push('work', { 'work.txt': part }, { by: 'alice' });
      source.addCheckRun(app, next, 'build', 'success', { [part]: `It took 3 minutes.\neph-images: app=${repository}:${tag}\n` });
      await wake();
      await harness.untilReady(ref, next, 60);
      expect((await harness.visit(name)).body, part).toBe(reference);
    }

    const chosen = await images.publish('acme/other', 'chosen');
    await images.publish('acme/other', 'evil');
    pull.unlabel('preview', { by: 'alice' });
    const say = (by: string, image: string): void => void pull.comment(`/deploy --image=${image}`, { by });
    letSecondPass();
    say('alice', `app=${images.repository('acme/other')}:chosen`);
    await wake();
    await eventually('the image of the comment runs', async () => (await harness.visit(name)).body === chosen, 60);
    say('alice', `app=${images.repository('acme/other')}:chosen --image=nobody=${images.repository('acme/other')}:evil`);
    await wake();
    const ignoring = await eventually('the other image is ignored', async () => {
      const [found] = await harness.environments();
      return found?.conditions.some(({ type }) => type === 'Warning') === true && found;
    });
    expect(await why(harness, ignoring)).toMatch(/Note: --image=nobody=.*:evil was ignored: no component runs an entry/);
    // Who may not write asks for nothing, also where everything is read anew.
    say('mallory', `app=${images.repository('acme/other')}:evil`);
    await restart();
    await harness.until(ref, 'is found again', ({ phase }) => phase === 'Ready', 60);
    expect((await harness.visit(name)).body).toBe(chosen);
  });

  it('are never what anybody says about a fork', { timeout: 180_000 }, async () => {
    await using stack = new AsyncDisposableStack();
    const { images, harness, repository, source, wake, letSecondPass } = await setUp(stack, { tag_template: '{commit_sha:0:7}' });
    const fork = source.fork('mallory');
    const commit = fork.push('patch', { 'work.txt': '1' }, { by: 'mallory' });
    const pull = source.openPullRequest({ head: 'mallory:patch', by: 'mallory' });
    await images.publish('acme/shop', 'evil');
    await images.publish('acme/shop', commit.slice(0, 7));
    source.setStatus(commit, 'success', { context: 'build', description: `eph-image: ${repository}:evil` });
    pull.label('preview', { by: 'alice' });
    letSecondPass();
    // This approves the commit, too.
    pull.comment(`/deploy ${commit} --image=app=${repository}:evil`, { by: 'alice' });
    await wake();
    // Of root, a fork runs nowhere: what counts is which image was found for it.
    type Environment = Parameters<typeof imagesCondition>[0];
    const right = `app is ${repository}:${commit.slice(0, 7)} `;
    const isRight = (one: Environment): boolean => imagesCondition(one)?.message.startsWith(right) === true;
    await harness.until(String(pull.number), 'its image is found', isRight, 60);

    pull.unlabel('preview', { by: 'alice' });
    await wake();
    const isWarned = (one: Environment): boolean => one.conditions.some(({ type }) => type === 'Warning');
    const environment = await harness.until(String(pull.number), 'the comment is ignored', isWarned, 60);
    expect(isRight(environment)).toBe(true);
    expect(await why(harness, environment)).toContain(`--image=app=${repository}:evil was ignored: it says nothing about a fork`);
  });
});
