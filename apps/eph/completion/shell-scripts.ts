import type { CommandTree, CompletedCommand, CompletedOption, Value } from './command-tree.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

export const renderScript = (shell: Shell, tree: CommandTree): string => ({ bash, zsh, fish })[shell](tree);

/** In all three shells. */
const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** How a value is completed, in a word: what follows says with what. */
const kindOf = (value: Value): string => {
  switch (value.type) {
    case 'ask':
      return `ask ${value.what}`;
    case 'words':
      return `words ${value.words.join(' ')}`;
    case 'files':
    case 'text':
      return value.type;
  }
};

const flagsWithValues = (options: readonly CompletedOption[], place: string): readonly [patterns: string, kind: string][] =>
  options.flatMap(({ flags, value }) =>
    value === undefined ? [] : [[flags.map((flag) => `${place}/${flag}`).join('|'), kindOf(value)]],
  );

/** A function of bash and zsh that puts what belongs to its argument into REPLY, and fails if nothing does. */
const lookup = (name: string, rows: readonly (readonly [patterns: string, reply: string])[]): string => `${name}() {
  case "$1" in
${rows.map(([patterns, reply]) => `    ${patterns}) REPLY=${quote(reply)} ;;`).join('\n')}
    *) REPLY= && return 1 ;;
  esac
}`;

const pattern = (path: string, rest: string): string => quote(`${path}/${rest}`);

const commandRows = ({ commands }: CommandTree): readonly [string, string][] =>
  commands.map(({ path, parent, names }) => [names.map((name) => pattern(parent, name)).join('|'), path]);

const valueRows = ({ options, commands }: CommandTree): readonly (readonly [string, string])[] => [
  ...flagsWithValues(options, '*'),
  ...commands.flatMap(({ path, options: own }) => flagsWithValues(own, quote(path))),
];

/** By the number of operands before. A variadic one is last and takes all others. */
const operandRows = ({ commands }: CommandTree): readonly [string, string][] =>
  commands.flatMap(({ path, operands }) =>
    operands.map(({ value, isVariadic }, index): [string, string] => [
      isVariadic ? `${quote(`${path}/`)}*` : pattern(path, String(index)),
      kindOf(value),
    ]),
  );

const childrenOf = ({ commands }: CommandTree, path: string): readonly CompletedCommand[] =>
  commands.filter(({ parent }) => parent === path);

const parentsIn = (tree: CommandTree): readonly string[] => [...new Set(tree.commands.map(({ parent }) => parent))];

const placesIn = (tree: CommandTree): readonly (readonly [path: string, options: readonly CompletedOption[]])[] => [
  ['', []],
  ...tree.commands.map(({ path, options }) => [path, options] as const),
];

/** Goes over the words before the current one: which command, how many operands, and what the current word is. */
const walk = (first: number, current: string, word: string): string => `  for ((i = ${first}; i < ${current}; i++)); do
    word=${word}
    if [[ -n $kind && $word == = ]]; then continue
    elif [[ -n $kind ]]; then kind=
    elif [[ $word == -*=* ]]; then continue
    elif [[ $word == -* ]]; then _eph_value "$at/$word" && kind=$REPLY
    elif ((operands == 0)) && _eph_command "$at/$word"; then at=$REPLY
    else operands=$((operands + 1)); fi
  done`;

const bash = (tree: CommandTree): string => `# Completes eph in bash: source <(eph completion bash)
${lookup('_eph_command', commandRows(tree))}
${lookup('_eph_value', valueRows(tree))}
${lookup('_eph_operand', [
  ...parentsIn(tree).map((path): [string, string] => [
    pattern(path, '0'),
    `words ${childrenOf(tree, path)
      .flatMap(({ names }) => names)
      .join(' ')}`,
  ]),
  ...operandRows(tree),
])}
${lookup(
  '_eph_options',
  placesIn(tree).map(([path, own]): [string, string] => [
    quote(path),
    [...own, ...tree.options].map(({ flags }) => flags.at(-1) ?? '').join(' '),
  ]),
)}
_eph() {
  local current=\${COMP_WORDS[COMP_CWORD]} at= kind= operands=0 word i REPLY
  COMPREPLY=()
${walk(1, 'COMP_CWORD', `\${COMP_WORDS[i]}`)}
  if [[ $current == = ]]; then current=; fi
  if [[ -z $kind && $current == -* ]]; then _eph_options "$at" && kind="words $REPLY"
  elif [[ -z $kind ]]; then _eph_operand "$at/$operands" && kind=$REPLY; fi
  case $kind in
    words*) for word in \${kind#words}; do if [[ $word == "$current"* ]]; then COMPREPLY+=("$word"); fi; done ;;
    files) compopt -o default ;;
    ask*) while IFS=$'\\t' read -r word _; do if [[ $word == "$current"* ]]; then COMPREPLY+=("$word"); fi; done < \\
      <("$1" __complete "\${kind#ask }" -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null) ;;
  esac
}
complete -F _eph eph
`;

/** A candidate of `_describe`: a colon separates it from its description. */
const described = (name: string, description: string): string => quote(`${name.replaceAll(':', '\\:')}:${description}`);

const candidates = (
  name: string,
  rows: readonly (readonly [pattern: string, entries: readonly string[]])[],
): string => `${name}() {
  case "$1" in
${rows.map(([one, entries]) => `    ${one}) candidates=(${entries.join(' ')}) ;;`).join('\n')}
    *) return 1 ;;
  esac
}`;

const zsh = (tree: CommandTree): string => `#compdef eph
# Completes eph in zsh: source <(eph completion zsh), or write it to a file _eph in a folder of fpath.
${lookup('_eph_command', commandRows(tree))}
${lookup('_eph_value', valueRows(tree))}
${lookup('_eph_operand', operandRows(tree))}
${candidates(
  '_eph_commands',
  parentsIn(tree).map((path) => [
    quote(path),
    childrenOf(tree, path).flatMap(({ names, description }) => names.map((name) => described(name, description))),
  ]),
)}
${candidates(
  '_eph_options',
  placesIn(tree).map(([path, own]) => [
    quote(path),
    [...own, ...tree.options].flatMap(({ flags, description }) => flags.map((flag) => described(flag, description))),
  ]),
)}
_eph() {
  local at= kind= operands=0 word description i REPLY
  local -a candidates
${walk(2, 'CURRENT', `\${words[i]}`)}
  if [[ -z $kind && $PREFIX == -* ]]; then
    _eph_options "$at" && _describe -o option candidates
    return
  elif [[ -z $kind ]] && ((operands == 0)) && _eph_commands "$at"; then
    _describe command candidates
    return
  elif [[ -z $kind ]]; then _eph_operand "$at/$operands" && kind=$REPLY; fi
  case $kind in
    words*) candidates=(\${=kind#words}) && _describe value candidates ;;
    files) _files ;;
    ask*)
      while IFS=$'\\t' read -r word description; do candidates+=("\${word//:/\\\\:}:$description"); done < \\
        <("\${words[1]}" __complete "\${kind#ask }" -- "\${(@)words[2,CURRENT]}" 2> /dev/null)
      _describe "\${kind#ask }" candidates ;;
  esac
}
if [[ \${funcstack[1]} == _eph ]]; then _eph "$@"; else compdef _eph eph; fi
`;

const fish = (tree: CommandTree): string => `# Completes eph in fish: eph completion fish > ~/.config/fish/completions/eph.fish
function __eph_command
    switch $argv[1]
${tree.commands
  .map(
    ({ path, parent, names }) =>
      `        case ${names.map((name) => quote(`${parent}/${name}`)).join(' ')}\n            echo ${quote(path)}`,
  )
  .join('\n')}
        case '*'
            return 1
    end
end
function __eph_takes_value
    switch $argv[1]
        case ${[...flagsWithFish(tree.options, '*'), ...tree.commands.flatMap(({ path, options }) => flagsWithFish(options, path))].join(' ')}
            return 0
    end
    return 1
end
function __eph_is
    set -l at ''
    set -l operands 0
    set -l skips 0
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        if test $skips = 1
            set skips 0
        else if string match -q -- '-*' $word
            __eph_takes_value "$at/$word"; and set skips 1
        else if test $operands = 0; and __eph_command "$at/$word" >/dev/null
            set at (__eph_command "$at/$word")
        else
            set operands (math $operands + 1)
        end
    end
    test "$at" = "$argv[1]"; or return 1
    test (count $argv) = 1; or test $operands $argv[2] $argv[3]
end
function __eph_ask
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    $program __complete $argv[1] -- $words "$current" 2>/dev/null
end
complete -c eph -f
${tree.commands
  .flatMap(({ parent, names, description }) =>
    names.map((name) => completeFish(`__eph_is ${quote(parent)} -eq 0`, `-a ${quote(name)} -d ${quote(description)}`)),
  )
  .join('\n')}
${tree.commands
  .flatMap(({ path, operands }) =>
    operands.map(({ value, isVariadic }, index) =>
      completeFish(`__eph_is ${quote(path)} ${isVariadic ? '-ge' : '-eq'} ${index}`, valueFish(value)),
    ),
  )
  .join('\n')}
${[
  ...tree.options.map((option) => `complete -c eph ${optionFish(option)}`),
  ...tree.commands.flatMap(({ path, options }) =>
    options.map((option) => completeFish(`__eph_is ${quote(path)}`, optionFish(option))),
  ),
].join('\n')}
`;

const flagsWithFish = (options: readonly CompletedOption[], place: string): readonly string[] =>
  options.flatMap(({ flags, value }) => (value === undefined ? [] : flags.map((flag) => quote(`${place}/${flag}`))));

const completeFish = (condition: string, rest: string): string => `complete -c eph -n ${quote(condition)} ${rest}`;

const optionFish = ({ flags, description, value }: CompletedOption): string =>
  [
    ...flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)),
    `-d ${quote(description)}`,
    ...(value === undefined ? [] : [value.type === 'files' ? '-r' : '-x', valueFish(value)]),
  ].join(' ');

const valueFish = (value: Value): string => {
  switch (value.type) {
    case 'ask':
      return `-a '(__eph_ask ${value.what})'`;
    case 'words':
      return `-a ${quote(value.words.join(' '))}`;
    case 'files':
      return '-F';
    case 'text':
      return '';
  }
};
