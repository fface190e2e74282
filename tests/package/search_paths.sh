#!/usr/bin/env bash
# Usage: search_paths.sh BUILD. Of every program and library of the build: where it looks for libraries has no empty and
# no relative element, which would mean the current folder; and it is bound at its start (BIND_NOW), guards its
# stack, and lies at an address of chance; copies are checked against the size of what they fill.
set -euo pipefail
build="$1"
cd "$build"
looked=0 wrong=0
complain() {
  echo "$1" >&2
  wrong=1
}
for file in bin/tofstream* lib/libtofstream*.so; do
  [ -f "$file" ] || continue
  looked=$((looked + 1))
  dynamic="$(readelf -dW "$file")"
  paths="$(sed -n 's/.*R[UN]*PATH).*\[\(.*\)\]$/\1/p' <<<"$dynamic")"
  for path in ${paths//:/ }; do
    [[ $path == /* || $path == '$ORIGIN'* ]] || complain "$file looks for libraries in '$path'"
  done
  [[ ":$paths:" != *::* || -z $paths ]] || complain "$file looks for libraries in the current folder: '$paths'"
  grep -q BIND_NOW <<<"$dynamic" || complain "$file is not bound at its start"
  grep -q ' __stack_chk_fail' <<<"$(readelf --dyn-syms -W "$file")" || complain "$file does not guard its stack"
  grep -q 'Type: *DYN' <<<"$(readelf -hW "$file")" || complain "$file is always at one address"
done
if ! grep -q 'CMAKE_BUILD_TYPE:STRING=Debug' CMakeCache.txt; then
  grep -q '_chk@' <<<"$(readelf --dyn-syms -W lib/libtofstream_io.so)" || complain "no copy is checked"
fi
[ "$looked" -ge 3 ] || complain "only $looked programs and libraries in $build"
exit "$wrong"
# SPDX-License-Identifier: Apache-2.0
