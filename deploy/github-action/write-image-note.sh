#!/bin/sh
# Writes into a Git note which images were built from a commit, and pushes it to where Eph looks for it.
# The guide docs/guides/ci.md of Eph says when that is needed. Git and the usual tools of a POSIX system are enough.
#
#   EPH_IMAGES     name=reference, separated by commas; the names are those under environment.images in eph.yaml
#   EPH_COMMIT     the full id of the commit that they were built from
#   EPH_NOTES_REF  as git_note_ref in eph.yaml; eph-images if it is empty
#   EPH_REMOTE     a remote of this checkout, or an address; origin if it is empty
set -euf

images=${EPH_IMAGES:-}
commit=${EPH_COMMIT:-}
notes=${EPH_NOTES_REF:-eph-images}
remote=${EPH_REMOTE:-origin}

# Each attempt that lost a race let another job finish, so races may be many. Other failures rarely pass.
most_attempts=100
most_failures=5
longest_pause=10

# Without a terminal, a question about a password would wait for ever.
export LC_ALL=C GIT_TERMINAL_PROMPT=0

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

# On one line: a CI system may take a line of the log for a command.
show() {
  printf '%s' "$1" | tr -c '\040-\176' '?' | cut -c 1-200
}

without_credentials() {
  sed 's,://[^/ ]*@,://,g'
}

is_one_line() {
  [ "$(printf '%s' "$1" | tr -d '\000-\037\177')" = "$1" ]
}

matches() {
  is_one_line "$1" && printf '%s\n' "$1" | grep -Eq "^($2)\$"
}

name='[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?'
port=':[0-9]{1,5}'
host="(localhost|[A-Za-z0-9-]+([.][A-Za-z0-9-]+)+)($port)?|[A-Za-z0-9-]+$port"
folder='[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*'
tag=':[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}'
digest='@sha256:[0-9a-f]{64}'
image="$name=($host/)?$folder(/$folder)*($tag|($tag)?$digest)"

entries=
check_images() {
  is_one_line "$images" || fail 'The images must be on one line, separated by commas.'
  separators=$IFS
  IFS=,
  # shellcheck disable=SC2086 # split at commas; set -f keeps patterns as they are
  set -- $images
  IFS=$separators
  [ $# -gt 0 ] || fail 'No images are named. Write name=reference, such as api=ghcr.io/acme/api:1a2b3c4.'
  for entry; do
    entry=${entry#"${entry%%[! ]*}"}
    entry=${entry%"${entry##*[! ]}"}
    matches "$entry" "$image" || fail "'$(show "$entry")' is not an image. Write name=reference, with a name from \
environment.images in eph.yaml and a tag or a digest, such as api=ghcr.io/acme/api:1a2b3c4."
    case ", $entries" in
      *", ${entry%%=*}="*) fail "The image ${entry%%=*} is named twice." ;;
    esac
    entries=${entries:+$entries, }$entry
  done
}

check_images
matches "$commit" '[0-9a-f]{40}|[0-9a-f]{64}' ||
  fail "'$(show "$commit")' is not a commit. Write its full id: 40 or 64 characters, 0 to 9 and a to f."
case $remote in
  -*) fail "'$(show "$remote" | without_credentials)' is not a remote. Write the name of a remote, or an address." ;;
esac
is_one_line "$remote" || fail 'The remote must be on one line.'
case $notes in
  refs/*) fail "The notes are named without refs/notes/, as git_note_ref in eph.yaml, and not '$(show "$notes")'." ;;
esac
ref=refs/notes/$notes
git check-ref-format "$ref" || fail "'$(show "$notes")' is not a name for notes. Write one such as eph-images."
shallow=$(git rev-parse --is-shallow-repository) ||
  fail 'This needs a checkout of the repository, such as that of actions/checkout.'

draft=$ref-$$
trap 'git update-ref -d "$draft"' EXIT
trap 'exit 1' HUP INT TERM
export commit entries ref

# The identity and the limits hold for this command alone.
run_git() {
  git -c user.name=Eph -c user.email=eph@localhost -c gc.auto=0 -c maintenance.auto=false \
    -c http.lowSpeedLimit=1 -c http.lowSpeedTime=30 "$@"
}

read_tip() {
  listed=$(run_git ls-remote "$remote" "$ref") || return 1
  printf '%s\n' "$listed" | awk '$2 == ENVIRON["ref"] { print $1 }'
}

fetch_notes() {
  # In a whole checkout, a depth would cut off history and make it a shallow one for later steps.
  [ "$shallow" = false ] || set -- --depth=1
  run_git fetch --quiet --no-tags --no-recurse-submodules "$@" "$remote" "+$ref:$draft"
}

# The note as it should be. Of several lines about one image the last counts for Eph, so what is new comes last.
rewrite() {
  awk '
    function trim(text) { gsub(/^[ \t\r]+|[ \t\r]+$/, "", text); return text }
    function name_of(pair) { return trim(substr(pair, 1, index(pair, "=") - 1)) }
    BEGIN {
      count = split(ENVIRON["entries"], pairs, ", ")
      for (i = 1; i <= count; i++) wanted[name_of(pairs[i])] = pairs[i]
    }
    { before[NR] = after[NR] = $0 }
    /^[ \t]*eph-images:/ {
      size = split(substr($0, index($0, ":") + 1), pairs, ",")
      others = ""
      ours = 0
      for (i = 1; i <= size; i++) {
        pair = trim(pairs[i])
        name = name_of(pair)
        if (!(name in wanted)) { others = others (others == "" ? "" : ", ") pair; continue }
        ours++
        if (pair == wanted[name] && !(name in same)) { same[name] = 1; kept++ }
      }
      found += ours
      if (ours > 0) after[NR] = "eph-images: " others
      if (ours > 0 && others == "") delete after[NR]
    }
    END {
      complete = kept == count && found == count
      for (i = 1; i <= NR; i++) if (complete) print before[i]; else if (i in after) print after[i]
      if (!complete) print "eph-images: " ENVIRON["entries"]
    }'
}

# Returns 0 if the remote has the note, 2 if another job was faster, and 1 if anything else went wrong.
write_note() {
  before=$(read_tip) || return 1
  if [ -n "$before" ]; then fetch_notes || return 1; else git update-ref -d "$draft" || return 1; fi
  listed=$(run_git notes --ref="$draft" list) || return 1
  id=$(printf '%s\n' "$listed" | awk '$2 == ENVIRON["commit"] { print $1 }')
  note=
  if [ -n "$id" ]; then note=$(run_git cat-file blob "$id") || return 1; fi
  wanted=$(printf '%s' "$note" | rewrite) || return 1
  [ "$wanted" != "$note" ] || return 0
  id=$(printf '%s\n' "$wanted" | run_git hash-object -w --stdin) || return 1
  run_git notes --ref="$draft" add --force --reuse-message="$id" "$commit" || return 1
  # Hooks of the checkout, such as that of Git LFS, have nothing to do with notes.
  run_git push --quiet --no-verify --no-follow-tags --no-recurse-submodules "$remote" "$draft:$ref" && return 0
  after=$(read_tip) && [ "$after" != "$before" ] && return 2
  return 1
}

attempts=0
failures=0
while :; do
  result=0
  output=$(write_note 2>&1) || result=$?
  [ "$result" -ne 0 ] || break
  attempts=$((attempts + 1))
  [ "$result" -eq 2 ] || failures=$((failures + 1))
  if [ "$failures" -ge "$most_failures" ] || [ "$attempts" -ge "$most_attempts" ]; then
    printf '%s\n' "$output" | without_credentials | sed 's/^/git: /' >&2
    fail "The note could not be written to $ref of $(show "$remote" | without_credentials) in $attempts attempts. \
The job must reach the remote and be allowed to push there."
  fi
  # Jobs that began together must not try again together. They may have equal process ids and clocks.
  pause=$((attempts < longest_pause ? attempts : longest_pause))
  sleep $(($(od -An -N2 -tu2 /dev/urandom) % (pause + 1)))
done
printf '%s says for commit %s: %s\n' "$ref" "$commit" "$entries"
