#!/usr/bin/env bash
# Every wrong gadget of gadgets.cpp fails to compile with exactly one error: the sentence that stands above it.
# usage: check.sh COMPILER SOURCE_ROOT WORK
set -euo pipefail
compiler=$1 root=$2 work=$3
cases="$root/tests/core/wrong/gadgets.cpp"
flags=(-std=c++20 -I"$work" -I"$root" -DNDEBUG)

# The header is compiled once; each case then takes a moment.
mkdir -p "$work/core"
printf '#include "%s/core/gadget.hpp"\n' "$root" >"$work/core/gadget.hpp"
"$compiler" "${flags[@]}" -x c++-header "$work/core/gadget.hpp" -o "$work/core/gadget.hpp.gch"
"$compiler" "${flags[@]}" -fsyntax-only -DWRONG=0 "$cases"

count=$(grep -c '^#\(el\)\?if WRONG == ' "$cases") failed=0
for ((wrong = 1; wrong <= count; ++wrong)); do
  sentence=$(sed -n "s,^// $wrong: ,,p" "$cases")
  if LC_ALL=C "$compiler" "${flags[@]}" -fsyntax-only -DWRONG=$wrong "$cases" >"$work/said" 2>&1; then
    echo "case $wrong compiles, and should say: $sentence"
    failed=1
  elif errors=$(grep -E ' error: ' "$work/said") && [ "${errors#* error: static assertion failed: }" != "$sentence" ]; then
    printf 'case %s should say only: %s\n%s\n' "$wrong" "$sentence" "$errors"
    failed=1
  fi
done
echo "$count wrong gadgets"
exit $failed
# SPDX-License-Identifier: Apache-2.0
