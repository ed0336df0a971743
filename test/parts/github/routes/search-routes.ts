import { Problem, page } from '../http/answer.ts';
import { type Route, route } from '../http/route.ts';
import { fullName, hasLabel, type Issue } from '../state/repository.ts';
import { maySee, reaches, type Viewer } from '../state/viewer.ts';
import { foundIssueView } from '../views/issue-view.ts';

/** GitHub finds as many as there are and shows no more than this. */
const mostResults = 1000;

type Test = (issue: Issue) => boolean;

export const searchRoutes: readonly Route[] = [
  route(
    'search/issues-and-pull-requests',
    { kind: 'anybody' },
    ({ github, viewer, query, incompleteResults }) => {
      const tests = parseQuery(query.q);
      const all = [...github.repositories.values()]
        .filter((repository) => searchable(viewer, repository))
        .flatMap((repository) => [...repository.issues.values()])
        .filter((issue) => tests.every((test) => test(issue)));
      const sorted = inOrder(all, query.sort, query.order);
      const shown = incompleteResults ? sorted.slice(0, Math.floor(sorted.length / 2)) : sorted.slice(0, mostResults);
      return page(
        shown,
        (issue) => foundIssueView(github, issue),
        (items, total) => ({
          // An emptied page says that nothing was found at all.
          total_count: total === 0 && shown.length > 0 ? 0 : all.length,
          incomplete_results: incompleteResults,
          items,
          search_type: 'lexical',
        }),
      );
    },
    'search',
  ),
];

/** An installation finds what it was installed on; a person also what is public. */
const searchable = (viewer: Viewer, repository: Issue['repository']): boolean =>
  viewer.kind === 'installation' ? reaches(viewer, repository) || !repository.private : maySee(viewer, repository);

const parseQuery = (query: string): readonly Test[] => {
  const terms = query.match(/-?[\w-]+:"[^"]*"|-?[\w-]+:\S+|"[^"]*"|\S+/g) ?? [];
  if (terms.length === 0) throw new Problem(422, 'Validation Failed', [{ resource: 'Search', field: 'q', code: 'missing' }]);
  const owners = terms.filter((term) => /^(org|user|repo):/.test(term)).map(ownerTest);
  const others = terms.filter((term) => !/^(org|user|repo):/.test(term)).map(parseTerm);
  // Several places widen a search, everything else narrows it.
  return owners.length === 0 ? others : [(issue) => owners.some((test) => test(issue)), ...others];
};

const ownerTest = (term: string): Test => {
  const [kind, value] = splitTerm(term);
  const wanted = value.toLowerCase();
  if (kind === 'repo') return ({ repository }) => fullName(repository).toLowerCase() === wanted;
  return ({ repository }) => repository.owner.login.toLowerCase() === wanted;
};

const splitTerm = (term: string): readonly [string, string] => {
  const colon = term.indexOf(':');
  return [term.slice(0, colon), term.slice(colon + 1).replaceAll('"', '')];
};

const parseTerm = (term: string): Test => {
  if (term.startsWith('-')) {
    const test = parseTerm(term.slice(1));
    return (issue) => !test(issue);
  }
  if (!term.includes(':')) {
    const text = term.replaceAll('"', '').toLowerCase();
    return ({ title, body }) => `${title} ${body ?? ''}`.toLowerCase().includes(text);
  }
  const [name, value] = splitTerm(term);
  const qualifier = qualifiers[name];
  if (qualifier === undefined) throw new Error(`The emulated search does not know the qualifier ${name}.`);
  return qualifier(value);
};

const qualifiers: Readonly<Record<string, (value: string) => Test>> = {
  is: (value) => (issue) => states(issue).has(value),
  type: (value) => (issue) => states(issue).has(value),
  state: (value) => (issue) => issue.state === value,
  draft: (value) => (issue) => issue.kind === 'pull' && issue.draft === (value === 'true'),
  archived: (value) => (issue) => issue.repository.archived === (value === 'true'),
  // Labels with a comma between them: any of them.
  label: (value) => (issue) => value.split(',').some((name) => hasLabel(issue, name)),
  author: (value) => (issue) => issue.author.login.toLowerCase() === value.toLowerCase(),
  head: (value) => (issue) => issue.kind === 'pull' && issue.headRef.startsWith(value),
  base: (value) => (issue) => issue.kind === 'pull' && issue.baseRef === value,
  updated: (value) => inRange(value, ({ updatedAt }) => updatedAt),
  created: (value) => inRange(value, ({ createdAt }) => createdAt),
  closed: (value) => inRange(value, ({ closedAt }) => closedAt),
};

const states = (issue: Issue): ReadonlySet<string> =>
  new Set([
    issue.state,
    ...(issue.kind === 'pull' ? ['pr', 'pull-request'] : ['issue']),
    issue.repository.private ? 'private' : 'public',
    ...(issue.kind === 'pull' && issue.draft ? ['draft'] : []),
    ...(issue.kind === 'pull' && issue.merged !== undefined ? ['merged'] : []),
  ]);

const inRange = (range: string, read: (issue: Issue) => number | undefined): Test => {
  const [, sign = '', text = range] = /^(>=|<=|>|<)(.*)$/.exec(range) ?? [];
  const [from = '', to] = text.split('..');
  const low = Date.parse(from);
  return (issue) => {
    const at = read(issue);
    if (at === undefined) return false;
    if (to !== undefined) return (from === '*' || at >= low) && (to === '*' || at <= Date.parse(to));
    if (sign.startsWith('>')) return at > low || (sign === '>=' && at === low);
    return at < low || (sign === '<=' && at === low);
  };
};

const inOrder = (issues: readonly Issue[], sort: string | undefined, order: 'asc' | 'desc' = 'desc'): readonly Issue[] => {
  const key = (issue: Issue): number => {
    if (sort === 'updated') return issue.updatedAt;
    return sort === 'comments' ? issue.comments.length : issue.createdAt;
  };
  const rising = issues.toSorted((a, b) => key(a) - key(b) || a.id - b.id);
  return order === 'asc' ? rising : rising.toReversed();
};
