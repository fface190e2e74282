#!/usr/bin/env bash
# usage: installed.sh BUILD SOURCE WORK. Installs this build and looks for what people look for besides the program; then
# collects the licences of the libraries that a bundle would ship, and makes and looks into the Debian packages.
set -euo pipefail
build=$1 source=$2 work=$3

fail() { echo "FAILED: $*" >&2; exit 1; }

rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
cd "$work"  # no source tree beside it
tofstream="$work/prefix/bin/tofstream"
unset TOFSTREAM_SHARE TOFSTREAM_PLUGIN_PATH
share="$work/prefix/share"
for file in LICENSE README.md CHANGELOG.md CITATION.cff SECURITY.md; do
  [ -s "$share/doc/tofstream/$file" ] || fail "no share/doc/tofstream/$file"
done
for file in man/man1/tofstream.1 bash-completion/completions/tofstream zsh/site-functions/_tofstream \
            fish/vendor_completions.d/tofstream.fish tofstream/schema/pipeline.schema.json; do
  [ -s "$share/$file" ] || echo "note: no share/$file: the target written_by_tofstream has not been built"
done

# The installed program finds the installed documents, and not those of the source tree.
topics=$("$tofstream" docs | wc -l)
[ "$topics" -ge 20 ] || fail "tofstream docs lists $topics documents"
"$tofstream" docs network --path | grep -q "^$work/prefix/" || fail "docs --path: $("$tofstream" docs network --path)"
"$tofstream" docs network | cmp - "$source/share/doc/network.md" || fail "tofstream docs network is another text"

# The doors: header, library and Python's package find each other wherever they are installed.
[ -s "$work/prefix/include/tofstream.h" ] || fail "no include/tofstream.h"
for python in python3 /usr/bin/python3; do
  if ! "$python" -c 'import numpy' 2>/dev/null; then continue; fi
  PYTHONPATH=$("$tofstream" gadgets --python) "$python" "$share/tofstream/examples/python/mlem.py" | grep -q "^in the ball 9" ||
    fail "the installed Python package does not find its ball"
  break
done

octave_folder=$(find "$work/prefix" -type d -path '*/tofstream/octave')
[ -s "$octave_folder/tof_spect.m" ] || fail "no lib/tofstream/octave/tof_spect.m"
if [ -e "$octave_folder/tofstream_mex.mex" ] && command -v octave-cli >/dev/null; then
  octave-cli --norc --quiet --path "$octave_folder" "$share/tofstream/examples/octave/mlem.m" | grep -q "^in the ball 9" ||
    fail "the installed functions of Octave do not find their ball"
fi

# The version that may be cited is the program's.
version=$("$tofstream" --version | sed -nE '1s/^tofstream ([0-9.]+) .*/\1/p')
grep -qx "version: $version" "$share/doc/tofstream/CITATION.cff" || fail "CITATION.cff has another version than $version"

# Each library that a bundle ships has its licence.
if command -v dpkg-query >/dev/null; then
  mapfile -t libraries < <(ldd "$tofstream" | awk '/=> \//{print $3}' | sort -u | grep -vF "$work" | head -8)
  "$source/tools/licences" "$work/licences" "${libraries[@]}" package:nlohmann-json3-dev || fail "tools/licences"
  for library in "${libraries[@]}"; do
    grep -q "^$(basename "$library"): " "$work/licences/README.txt" || fail "no licence of $library"
  done
  [ -s "$work/licences/nlohmann-json3-dev.txt" ] || fail "no licence of headers that are compiled in"
  touch "$work/strange.so"
  if "$source/tools/licences" "$work/other" "$work/strange.so" 2>"$work/err"; then fail "a library without a licence passed"; fi
  grep -q "strange.so is of no package" "$work/err" || fail "tools/licences does not name what has no licence"
else
  echo "note: no dpkg-query, so the libraries' licences were not looked for"
fi

# The Debian packages together hold the same, and depend on each other and on the libraries that they are linked with.
if command -v dpkg-shlibdeps >/dev/null && command -v dpkg-deb >/dev/null && command -v file >/dev/null; then
  cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/deb" >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log" >&2; fail "cpack"; }
  depends() { dpkg-deb --field "$(echo "$work/deb/$1"_*.deb)" Depends; }
  for library in libzmq5 libyaml-cpp0.7 libcairo2 'libc6 (>='; do
    grep -qF "$library" <<<"$(depends libtofstream0)" || fail "libtofstream0 does not depend on $library, but on: $(depends libtofstream0)"
  done
  for package in tofstream libtofstream-dev python3-tofstream; do
    grep -qF "libtofstream0 (= $version)" <<<"$(depends $package)" || fail "$package does not depend on its libraries, but on: $(depends $package)"
  done
  for deb in "$work"/deb/*.deb; do dpkg-deb --extract "$deb" "$work/root"; done
  # What Debian wants of each package, and what an installation for a person does not have.
  packages=(tofstream libtofstream0 libtofstream-dev python3-tofstream)
  if [ -e "$work/prefix/lib/tofstream/libtofstream_mpi.so" ]; then
    packages+=(tofstream-mpi)
    grep -q 'libopenmpi\|libmpich' <<<"$(depends tofstream-mpi)" || fail "tofstream-mpi does not depend on MPI, but on: $(depends tofstream-mpi)"
  fi
  for package in "${packages[@]}"; do
    [ -s "$work/root/usr/share/doc/$package/copyright" ] || fail "$package has no copyright"
    rm "$work/root/usr/share/doc/$package/copyright"
  done
  for file in README.txt nlohmann-json3-dev.txt libcli11-dev.txt; do
    [ -s "$work/root/usr/share/doc/libtofstream0/licences/$file" ] || fail "libtofstream0 has no licences/$file"
  done
  rm -r "$work/root/usr/share/doc/libtofstream0/licences"
  [ -s "$work/root/usr/lib/python3/dist-packages/tofstream/__init__.py" ] || fail "Python does not find its package"
  (cd "$work/prefix" && find . -type f | sort) >"$work/installed"
  (cd "$work/root/usr" && find . -type f | sort) | diff "$work/installed" - || fail "the packages hold other files than an installation"
  "$work/root/usr/bin/tofstream" docs network --path | grep -q "^$work/root/usr/" || fail "the package's program does not find its files"
else
  echo "note: no dpkg-shlibdeps or no file (apt install dpkg-dev file), so no Debian packages were made"
fi
# SPDX-License-Identifier: Apache-2.0
