#!/usr/bin/env bash
# usage: documents.sh SOURCE WORK. Every link of every document leads somewhere, and one that does not is found.
set -euo pipefail
source=$1 work=$2
"$source/tools/site" --check
rm -rf "$work"
mkdir -p "$work/share" "$work/tools"
cp -r "$source/share/doc" "$source/share/benchmarks" "$work/share/"
cp "$source"/*.md "$source/LICENSE" "$source/CITATION.cff" "$work/"
cp "$source/tools/site" "$work/tools/"
printf '\n[a](nowhere.md) and [b](files.md#nothing) and [c](files.md#other-formats) and `[d](code.md)`\n' >>"$work/share/doc/how-to.md"
printf '# New\n' >"$work/share/doc/new.md"
if "$work/tools/site" --check 2>"$work/err"; then echo "FAILED: broken links pass" >&2; exit 1; fi
for words in "nowhere.md: there is no such file" "files.md#nothing: share/doc/files.md has no such heading" \
             "share/doc/new.md: it is in the navigation of tools/site or in share/doc, but not in both"; do
  grep -qF "$words" "$work/err" || { cat "$work/err" >&2; echo "FAILED: not said: $words" >&2; exit 1; }
done
! grep -qE 'other-formats|code.md' "$work/err" || { cat "$work/err" >&2; exit 1; }
# SPDX-License-Identifier: Apache-2.0
