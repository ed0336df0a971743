import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Programs that behave like those of the system, for the PATH. Items are files in `items`, and arguments are in `arguments`. */
export const installFakeKeychain = async (program: 'secret-tool' | 'security', folder: string): Promise<void> => {
  for (const part of ['items', 'arguments']) await mkdir(join(folder, part), { recursive: true });
  const text = `#!/bin/sh
folder='${folder}'
printf '%s\\n' "$*" > "$folder/arguments/$$"
item() { printf '%s/items/%s' "$folder" "$(printf '%s\\n' "$@" | cksum | tr -d ' ')"; }
${scripts[program]}
`;
  await writeFile(join(folder, program), text, { mode: 0o755 });
};

const scripts = {
  'secret-tool': `
action=$1
shift
[ "$1" = --label ] && shift 2
item=$(item "$@")
case $action in
  store) cat > "$item" ;;
  lookup) [ -e "$item" ] && cat "$item" ;;
  clear) [ -e "$item" ] && rm "$item" ;;
esac`,
  // With -i, commands come from standard input, and the status says nothing about them.
  security: `
if [ "$1" = -i ]; then
  read -r line
  eval "set -- $line"
  # add-generic-password -U -s <service> -a <account> -w <password>
  printf '%s' "$8" > "$(item "$4" "$6")"
  exit 0
fi
item=$(item "$3" "$5")
[ -e "$item" ] || { echo 'The specified item could not be found in the keychain.' >&2; exit 44; }
case $1 in
  find-generic-password) cat "$item"; echo ;;
  delete-generic-password) rm "$item"; echo 'password has been deleted.' ;;
esac`,
} as const;
