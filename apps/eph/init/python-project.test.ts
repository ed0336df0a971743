import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseProject, parseRequirements } from './python-project.ts';

describe('a pyproject.toml', () => {
  it('names what it needs and what it starts', () => {
    const text = `
[build-system]
requires = ["setuptools"]

[project]
name = "shop" # not "dependencies = []"
dependencies = [
  "FastAPI>=0.110", # isn't that new?
  'uvicorn[standard]',
]
optional-dependencies.test = ["pytest"]

[project.scripts]
serve = "shop:main"
"other-one" = "shop:other"

[tool.poetry.dependencies]
typing_extensions = "4"
`;
    expect(parseProject(text)).toStrictEqual({
      needs: new Set(['fastapi', 'uvicorn', 'typing-extensions']),
      scripts: ['serve', 'other-one'],
      isProject: true,
    });
  });

  it.each(['', '[tool.ruff]\nline-length = 100\n', 'dependencies = ["a"]', '[project', 'project]\n'])('%j is none', (text) => {
    expect(parseProject(text)).toStrictEqual({ needs: new Set(), scripts: [], isProject: false });
  });
});

it('a requirements.txt names packages, and folders of packages', () => {
  const text = '# comment\n--no-index\n-r other.txt\nFlask==3\nflask_cors ; x\n./vendor/django\n-e ./libs/own/\n\n';
  expect(parseRequirements(text)).toStrictEqual(new Set(['flask', 'flask-cors', 'django', 'own']));
});

it('takes any text without complaint, and soon', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      parseRequirements(text);
      parseProject(`[project]\n${text}\ndependencies = [${text}]`);
    }),
  );
  for (const hostile of [' '.repeat(60_000), '"'.repeat(60_000), '#'.repeat(60_000), '[a\n'.repeat(20_000), 'a '.repeat(30_000)])
    parseProject(`[project]\ndependencies = [${hostile}`);
});
