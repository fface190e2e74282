#!/usr/bin/env bash
# Completes an installation by what it stands on, each part with its licence.
# usage: third_party.sh [--headers | --guest] LIBRARIES LICENCES [PROGRAM]...
# LIBRARIES is the installed folder of tofstream's libraries: the system's libraries that these and the PROGRAMs need are
# copied there, all but the C library's own. Their licences go to LICENCES, with those of headers that are compiled in.
#   --headers  copies no library, but the licences of headers
#   --guest    for what is loaded by a program of others, such as Python: the C++ library stays the system's, and each
#              copy gets a name of its own, since a process takes the first library of a name for every user of that name
set -euo pipefail

usage="usage: third_party.sh [--headers | --guest] LIBRARIES LICENCES [PROGRAM]..."
mode=all
case "${1:-}" in --headers | --guest) mode="${1#--}"; shift ;; esac
[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
libraries="$(realpath -s "$1")" licences="$2"
programs=("${@:3}")
source="$(cd "$(dirname "$0")/../.." && pwd)"

of_system='libc|libm|libdl|libpthread|librt|libresolv|ld-linux[^/]*'
if [ "$mode" = guest ]; then of_system+='|libstdc\+\+|libgcc_s'; fi
foreign=()
if [ "$mode" != headers ]; then
  command -v patchelf >/dev/null || { echo "third_party.sh: patchelf is not installed (apt install patchelf)" >&2; exit 1; }
  needed="$(ldd "$libraries"/*.so* "${programs[@]}")"
  if grep 'not found' <<<"$needed" >&2; then echo "third_party.sh: the system lacks these libraries" >&2; exit 1; fi
  mapfile -t foreign < <(awk -F ' => | [(]0x' '/=> \//{print $2}' <<<"$needed" | xargs -d '\n' realpath -s | sort -u |
    grep -vE "/($of_system)\.so" | grep -vF "$libraries/")
fi

rm -rf "$licences"
"$source/tools/licences" "$licences" "${foreign[@]}" package:nlohmann-json3-dev package:libcli11-dev package:libboost1.74-dev \
  package:cppzmq-dev package:libkissfft-dev package:libfccp-dev package:libeigen3-dev
if readelf -SW "$libraries/libtofstream_kernels.so" | grep -q nv_fatbin; then
  echo "CUDA's runtime, which is linked in: https://docs.nvidia.com/cuda/eula/" >>"$licences/README.txt"
fi
[ ${#foreign[@]} -gt 0 ] || exit 0

renamed=()
for library in "${foreign[@]}"; do
  name="$(basename "$library")" copy="$name"
  if [ "$mode" = guest ]; then
    copy="${name%%.so*}-tofstream.so${name#*.so}"
    renamed+=(--replace-needed "$name" "$copy")
  fi
  install -m 644 "$library" "$libraries/$copy"
  patchelf --set-soname "$copy" --set-rpath '$ORIGIN' "$libraries/$copy"
done
[ "$mode" = guest ] || exit 0
for file in "$libraries"/*.so* "${programs[@]}"; do
  if [ ! -L "$file" ]; then patchelf "${renamed[@]}" "$file"; fi
done
# SPDX-License-Identifier: Apache-2.0
