export interface PythonProject {
  /** Names of packages, in lower case. */
  readonly needs: ReadonlySet<string>;
  /** Programs that come with the project once it is installed. */
  readonly scripts: readonly string[];
  readonly isProject: boolean;
}

/** The parts of a `pyproject.toml` that say what runs; other TOML is passed over. */
export const parseProject = (text: string): PythonProject => {
  const sections = new Map(
    text
      .replace(/(^|\s)#.*$/gm, '$1')
      .split(/^[ \t]*\[(?=[\w."-]+\][ \t]*\r?$)/m)
      .slice(1)
      .map((one) => [one.slice(0, Math.max(0, one.indexOf(']'))), one.slice(one.indexOf(']') + 1)] as const),
  );
  const project = sections.get('project');
  const [, list = ''] = /^dependencies\s*=\s*\[((?:[^"'\]]|"[^"\n]*"|'[^'\n]*')*)\]/m.exec(project ?? '') ?? [];
  const listed = [...list.matchAll(/"([^"\n]*)"|'([^'\n]*)'/g)].map(([, double, single]) => double ?? single ?? '');
  const poetry = keysOf(sections.get('tool.poetry.dependencies'));
  return {
    needs: new Set([...listed, ...poetry].flatMap(nameOf)),
    scripts: [...keysOf(sections.get('project.scripts')), ...keysOf(sections.get('tool.poetry.scripts'))],
    isProject: project !== undefined || sections.has('tool.poetry') || sections.has('build-system'),
  };
};

/** Names of packages. One that is a folder is called after its folder. */
export const parseRequirements = (text: string): ReadonlySet<string> =>
  new Set(
    text.split(/\r?\n/).flatMap((line) => {
      const wanted = line.trim().replace(/^(-e|--editable)[ =]+/, '');
      return nameOf(/^\.{0,2}\//.test(wanted) ? (wanted.replace(/\/+$/, '').split('/').at(-1) ?? '') : wanted);
    }),
  );

const nameOf = (requirement: string): readonly string[] => {
  const [name] = /^\s*[A-Za-z0-9][\w.-]*/.exec(requirement) ?? [];
  return name === undefined ? [] : [name.trim().toLowerCase().replaceAll('_', '-')];
};

const keysOf = (section = ''): readonly string[] =>
  [...section.matchAll(/^[ \t]*["']?([A-Za-z][\w.-]*)["']?[ \t]*=/gm)].map(([, key = '']) => key);
