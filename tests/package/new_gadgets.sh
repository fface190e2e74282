#!/usr/bin/env bash
# Installs this build, moves the installed folder, and in it builds, tests and runs what new-gadget writes: every kind of
# plug-in out of the tree, and every kind in a copy of the tree. usage: new_gadgets.sh BUILD SOURCE WORK
set -euo pipefail
build=$1 source=$2 work=$3
here="$source/tests/package"

fail() { echo "FAILED: $*" >&2; exit 1; }

rm -rf "$work"
mkdir -p "$work/plugins" "$work/tree"
cmake --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"
tofstream="$work/prefix/bin/tofstream"
unset TOFSTREAM_SHARE TOFSTREAM_PLUGIN_PATH

# What completes an installed pipeline is where its first line says.
for file in "$work"/prefix/share/tofstream/{pipelines/*,examples/gadgets}/*.yaml; do
  schema=$(sed -n 's/.*[$]schema=//p' "$file" | head -1)
  [ -s "${file%/*}/$schema" ] || fail "$file names a schema that is not there: $schema"
done

# Out of the tree: one project of all, as each would be alone.
make() { "$tofstream" new-gadget "$@" --dir "$work/plugins" >/dev/null; }
"$tofstream" new-gadget near_middle --dir "$work/plugins" | tail -1 |
  grep -qF "cmake -B build -DCMAKE_PREFIX_PATH=$work/prefix " || fail "new-gadget does not say how CMake finds tofstream"
make passes_images --in estimate
make events_of_bytes --in bytes --out events
make thins_events --kind stateful
make makes_events --kind source
make passes_views --in views
make counts_images --kind sink --in estimate
make scales_images --cuda
cp "$here/CMakeLists.txt" "$work/plugins/"

# A family of scanners, copied out of the tree: what it registers is all that there is of it.
cp -r "$source/tests/command/toy_family" "$work/plugins/toy_family"

# In the tree: its files compile against the installed headers, which are the tree's.
printf 'project(tofstream VERSION 0)\n' >"$work/tree/CMakeLists.txt"
make_in() { "$tofstream" new-gadget "$@" --dir "$work/tree" >/dev/null; }
make_in tree_middle
make_in tree_views --in views --kind stateful
make_in tree_makes --kind source
make_in tree_scales --cuda
for file in gadgets/correct/tree_middle.cpp tests/gadgets/tree_middle.cpp share/examples/gadgets/tree_middle.yaml \
            gadgets/source/tree_makes.cpp kernels/filter/tree_scales.cu; do
  [ -f "$work/tree/$file" ] || fail "new-gadget wrote no $file"
done
cp -r "$work/tree" "$work/plugins/in_tree"
cp "$here/in_tree/CMakeLists.txt" "$work/plugins/in_tree/"

# The example of the design: at most 15 lines that are neither blank nor comment.
lines=$(sed -n '/^struct/,/^TOFSTREAM_GADGET/p' "$work/plugins/near_middle/near_middle.cpp" | grep -cvE '^ *(//|$)')
[ "$lines" -le 15 ] || fail "the example gadget has $lines lines"

launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache); fi
cmake -S "$work/plugins" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CUDA_ARCHITECTURES=90 \
  -DTOFSTREAM_SOURCE="$source" "${launcher[@]}" >"$work/configure.log"
cmake --build "$work/build" >"$work/build.log" || { cat "$work/build.log" >&2; fail "what new-gadget wrote does not build"; }
ctest --test-dir "$work/build" --output-on-failure --no-tests=error

# The family's scanner is simulated, written and reconstructed.
(cd "$work/plugins/toy_family" && export TOFSTREAM_PLUGIN_PATH="$work/build/toy_family" &&
  "$tofstream" simulate --quiet --scanner toy_probe.yaml --phantom toy_sphere.yaml --events 1000 -o events.probe >/dev/null &&
  "$tofstream" run probe_osem.yaml --quiet --out image >/dev/null) || fail "the toy family does not reconstruct"

# Installed, it is found by itself.
cmake --install "$work/build" --prefix "$work/elsewhere" >>"$work/install.log"
"$tofstream" gadgets --plugins | grep -q "lib.*/tofstream/plugins/near_middle.so" || fail "an installed plug-in is not found"
"$tofstream" check "$work/plugins/near_middle/near_middle.yaml" >/dev/null || fail "an installed plug-in is not used"

# A bad plug-in is one line on stderr, and no more.
mkdir "$work/bad"
echo "no library" >"$work/bad/notes.so"
"$tofstream" check "$work/plugins/near_middle/near_middle.yaml" --plugins "$work/bad" --plugins "$work/none" >/dev/null 2>"$work/err" ||
  fail "a bad plug-in ended the program"
[ "$(wc -l <"$work/err")" -eq 2 ] && grep -q "notes.so: plug-in skipped: it is no shared object" "$work/err" ||
  { cat "$work/err" >&2; fail "a bad plug-in and a missing folder say:"; }
"$tofstream" gadgets --plugins "$work/bad" --json 2>/dev/null | grep -q '"loaded": false' || fail "gadgets --plugins --json"

# What is refused, in one line and without a file written.
for arguments in "near_middle" "Bad_Name" "osem_update" "other --in imag" "other --kind sink --out events" "other --family x/y"; do
  if "$tofstream" new-gadget $arguments --dir "$work/plugins" >"$work/out" 2>"$work/err"; then fail "new-gadget $arguments"; fi
  [ "$(wc -l <"$work/err")" -eq 1 ] && [ ! -s "$work/out" ] || { cat "$work/err" >&2; fail "new-gadget $arguments says:"; }
done
[ ! -e "$work/plugins/other" ] || fail "a refused gadget left a folder"
# SPDX-License-Identifier: Apache-2.0
