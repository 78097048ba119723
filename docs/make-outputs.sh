#!/bin/sh
# Writes the program outputs that the manual includes: docs/src/outputs/NAME.txt for each line
# `NAME<TAB>words of the command` of docs/outputs.txt.
#
#   docs/make-outputs.sh target/release/fullpipe
set -eu

[ $# -eq 1 ] || { echo "usage: $0 PROGRAM" >&2; exit 2; }
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
# Files that the commands name are relative to the root of the repository.
cd "$(dirname "$0")/.."
mkdir -p docs/src/outputs
raw=$(mktemp)
trap 'rm -f "$raw"' EXIT

tab=$(printf '\t')
while IFS=$tab read -r name words; do
    case $name in
    '' | '#'*) continue ;;
    esac
    code=0
    # The words are split at blanks, as a shell would.
    # shellcheck disable=SC2086
    NO_COLOR=1 "$program" $words >"$raw" </dev/null || code=$?
    case $code in
    0 | 1 | 4 | 5) ;;
    *)
        echo "$name: exit code $code of: fullpipe $words" >&2
        exit 1
        ;;
    esac
    # Start time and duration differ from run to run.
    sed -E '2{
s/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/2026-01-01T00:00:00Z/
s/ · [0-9]+ s$//
}' "$raw" >"docs/src/outputs/$name.txt"
done <docs/outputs.txt
