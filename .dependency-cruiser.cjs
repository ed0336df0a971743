/**
 * The import directions of ARCHITECTURE.md as rules. `npm run boundaries` checks them over every file, type-only imports included.
 */

const { Visitor } = require('@swc/core/Visitor.js');

// The visitor of swc gives up on a file that holds a `using` declaration.
const { visitStatement } = Visitor.prototype;
Visitor.prototype.visitStatement = function (statement) {
  if (statement.type !== 'UsingDeclaration') return visitStatement.call(this, statement);
  return { ...statement, decls: this.visitVariableDeclarators(statement.decls) };
};

/** The files of `engine/loop` that join stages. The others (queue, clock, reports …) know nothing of them. */
const wholeLoop = [
  'context',
  'loop',
  'record',
  'records',
  'cross-references',
  'decide',
  'draft',
  'find-images',
  'render-file',
  'image-memory',
  'names',
  'lifetime',
  'redeploy',
  'removal',
  'reconcile',
  'outcome',
  'project',
  'project-set',
  'pass',
  'platform',
  'preview',
  'queries',
];

/** Interfaces without implementation; what adapters, providers and fakes may know of the engine. */
const seams = [
  'source/forge',
  'source/pulls',
  'source/ref-writer',
  'provider/provider',
  'images/resolver',
  'images/registry',
  'render/renderer',
  'desired/generator',
  'report/reporter',
  'time/clock',
  'history/event-log',
  'history/lease',
  'access/revocation-store',
];

const stages = [
  'time',
  'source',
  'polling',
  'render',
  'values',
  'images',
  'desired',
  'plan',
  'provider',
  'status',
  'report',
  'history',
];

/** Where a program begins: everything that ships is reached from here. */
const entries = [
  '^apps/[^/]+/main\\.ts$',
  '^apps/ephd/start\\.js$',
  '^apps/eph/build\\.ts$',
  '^apps/ephd/demo/main\\.ts$',
  // Nobody leads by it yet.
  '^packages/kube/kube-lease\\.ts$',
];

/** The same for tests: what vitest, npm or an app starts, and `*.program.ts`, which tests start as processes of their own. */
const testEntries = [
  '\\.test\\.ts$',
  '\\.program\\.ts$',
  '-reporter\\.ts$',
  '\\.setup\\.ts$',
  '^test/[^/]+/main\\.ts$',
  '^apps/ephd/demo/main\\.ts$',
];

/** The only files that know which adapters and providers there are. */
const wiring = [
  '^apps/[^/]+/main\\.ts$',
  '^apps/ephd/(wiring|forges|provider-types|kube-metrics)\\.ts$',
  '^apps/ephd/(forge|provider)-types/',
  '^apps/ephd/demo/',
];

const ours = '^(packages|apps|test)/';
const contract = '^packages/contract/';
const seamFiles = `^packages/engine/(${seams.join('|')})\\.ts$`;
const testFiles = '\\.test\\.ts$';
const standIns = '\\.(fake|contract|program)\\.ts$';
const engineStandIns = '^packages/engine/.+\\.(fake|contract)\\.ts$';
const systemClock = '^packages/engine/time/system-clock\\.ts$';
const testOnly = ['^test/', testFiles, standIns];
/** What reads or writes outside the process, or a watch. */
const effects =
  '^(node:)?(fs|child_process|net|http|https|http2|tls|dgram|dns|os|process|cluster|worker_threads|readline|sqlite|timers)(/|$)';

/** Code that ships, then what its tests may import on top of it. */
const only = ({ name, comment, from, allowed, allowedInTests = [] }) => [
  {
    name,
    comment,
    severity: 'error',
    from: { path: from, pathNot: [testFiles, standIns] },
    to: { path: ours, pathNot: allowed },
  },
  {
    name: `${name}-in-tests`,
    comment,
    severity: 'error',
    from: { path: `${from}.*\\.(test|fake|contract)\\.ts$` },
    to: { path: ours, pathNot: [...allowed, '^test/', ...allowedInTests] },
  },
];

module.exports = {
  forbidden: [
    ...only({
      name: 'contract-stands-alone',
      comment: 'The contract imports nothing of ours.',
      from: contract,
      allowed: [contract],
    }),
    {
      name: 'contract-is-browser-safe',
      comment: 'The contract also runs in browsers, which have no node modules.',
      severity: 'error',
      from: { path: contract, pathNot: testOnly },
      to: { dependencyTypes: ['core'] },
    },

    ...only({
      name: 'stage-imports-contract-and-itself',
      comment: 'A stage imports the contract, time and itself; only files of the loop join stages.',
      from: `^packages/engine/(${stages.join('|')})/`,
      allowed: [contract, '^packages/engine/($1|time)/'],
      allowedInTests: [seamFiles, engineStandIns],
    }),
    ...only({
      name: 'loop-imports-contract-and-itself',
      comment:
        'The queue and what drives it know time and polling, and nothing of other stages. A file that must is listed in wholeLoop.',
      from: `^packages/engine/loop/(?!(${wholeLoop.join('|')})\\.)`,
      allowed: [contract, '^packages/engine/(loop|time|polling)/'],
      allowedInTests: ['^packages/engine/'],
    }),
    ...only({
      name: 'engine-imports-contract',
      comment: 'The engine knows seams, never who implements them.',
      from: '^packages/engine/',
      allowed: [contract, '^packages/engine/'],
    }),
    {
      name: 'engine-has-no-effects',
      comment: 'Disk, network, processes and time reach the engine through a seam.',
      severity: 'error',
      from: { path: '^packages/engine/', pathNot: testOnly },
      to: { path: effects, dependencyTypes: ['core'] },
    },

    ...only({
      name: 'adapter-imports-seams',
      comment:
        'An adapter imports the contract, seams of the engine and itself; forges stand on plain Git and on one way to speak HTTP.',
      from: '^packages/adapters/([^/]+)/',
      allowed: [contract, seamFiles, '^packages/adapters/$1/', '^packages/adapters/forge-(git|http)/'],
      // What people read on forges is rendered in the engine and handed to reporters.
      allowedInTests: [engineStandIns, systemClock, '^packages/engine/report/(markdown|commit-status)\\.ts$'],
    }),
    ...only({
      name: 'provider-imports-seams',
      comment: 'A provider imports the contract, seams of the engine, what speaks to Kubernetes, and itself.',
      from: '^packages/providers/([^/]+)/',
      allowed: [contract, seamFiles, '^packages/kube/', '^packages/providers/$1/'],
      allowedInTests: [engineStandIns, systemClock],
    }),

    ...only({
      name: 'kube-imports-seams',
      comment:
        'What speaks to Kubernetes imports the contract, seams of the engine and itself; it knows nothing of environments.',
      from: '^packages/kube/',
      allowed: [contract, seamFiles, '^packages/kube/'],
      allowedInTests: [engineStandIns, systemClock],
    }),

    ...only({
      name: 'gateway-imports-contract',
      comment: 'The gateway is deployable apart.',
      from: '^apps/gateway/',
      allowed: [contract, '^apps/gateway/'],
    }),
    ...only({
      name: 'cli-imports-contract',
      comment: 'The CLI is an untrusted client of the API.',
      from: '^apps/eph/',
      allowed: [contract, '^apps/eph/'],
    }),
    {
      name: 'only-wiring-imports-implementations',
      comment:
        'Only main.ts, wiring.ts, the tables of forges and of provider types, metrics of clusters, and the demo know which adapters and providers there are.',
      severity: 'error',
      from: { path: '^apps/', pathNot: [...wiring, testFiles] },
      to: { path: '^packages/(adapters|kube|providers)/' },
    },
    {
      name: 'apps-stand-alone',
      comment: 'Nothing imports a program, except that ephd embeds the gateway.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: ['^apps/$1/', '^apps/gateway/gateway\\.ts$', standIns] },
    },
    {
      name: 'packages-do-not-import-apps',
      comment: 'Packages are what programs are made of.',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^apps/' },
    },

    {
      name: 'import-packages-by-name',
      comment: 'Another package is imported by its name, so that its exports map decides what is public.',
      severity: 'error',
      from: { path: '^((?:packages|apps)/[^/]+)/' },
      to: { path: '^(packages|apps)/', pathNot: ['^$1/', standIns], dependencyTypes: ['local'] },
    },
    {
      name: 'no-test-code-in-production',
      comment: 'Tests, fakes and contract suites never ship.',
      severity: 'error',
      // The demo is no part of what ships, and shows a real forge and a real cluster where those parts are here.
      from: { path: '^(packages|apps)/', pathNot: [...testOnly, '^apps/ephd/demo/(gitea-demo|demo-cluster)\\.ts$'] },
      to: { path: testOnly },
    },
    {
      name: 'no-cycles',
      comment: 'A cycle hides which file is the foundation; move what both need into a third.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolved',
      comment: 'An import that cannot be followed cannot be checked.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-vague-names',
      comment: 'A file is named after what it holds; these names hold anything.',
      severity: 'error',
      from: {},
      to: { path: '^(packages|apps|test)/.*\\b(utils?|helpers?|common|misc|manager|base)\\.ts$' },
    },
    {
      name: 'no-dead-files',
      comment: 'No program reaches this file. Packages export every file, so the dead-code check cannot tell; this rule can.',
      severity: 'error',
      from: { path: entries },
      to: { path: '^(packages|apps)/', pathNot: [...entries, ...testOnly], reachable: false },
    },
    {
      name: 'no-dead-test-code',
      comment: 'No test and no script of test/ uses this fake, contract suite or file.',
      severity: 'error',
      from: { path: testEntries },
      to: { path: testOnly, pathNot: testEntries, reachable: false },
    },
  ],
  options: {
    // TypeScript 7 has no API for parsers; without swc nothing is read and everything passes.
    parser: 'swc',
    detectProcessBuiltinModuleCalls: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['^(packages|apps)/[^/]+/dist/', '^test/gates/planted/', '^test/parts/samples/'] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.js', '.json'],
    },
  },
};
