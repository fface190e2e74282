#!/usr/bin/env bash
# Installs what is missing, configures and builds. Sourced by tools/demo and tools/test; safe to run again.
# Environment: TOFSTREAM_PRESET (release), TOFSTREAM_JOBS (all cores).
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
preset="${TOFSTREAM_PRESET:-release}"
build="$root/build/$preset"
jobs="${TOFSTREAM_JOBS:-$(nproc)}"
cuda_compile_only=OFF  # ON: CUDA kernels are compiled quickly and would run slowly

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }

# One Debian package a line, as Debian 12 names them.
packages=(
  build-essential cmake ninja-build ccache git ca-certificates pkg-config
  libtbb-dev libyaml-cpp-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libboost-dev libelf-dev libcli11-dev libeigen3-dev
  libgdcm-dev libhwy-dev libkissfft-dev libfccp-dev libsodium-dev libisal-dev libzmq3-dev cppzmq-dev libcairo2-dev libpng-dev zlib1g-dev libniftiio-dev libnifti2-dev
  libznz-dev prometheus-cpp-dev doctest-dev libvalijson-dev graphviz fonts-dejavu-core
  python3-minimal python3-numpy python3-zmq
)

install_packages() {
  local missing=() package
  for package in "${packages[@]}" "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if ! command -v apt-get >/dev/null; then
    echo "These Debian 12 packages (or their like on your system) are needed: ${missing[*]}" >&2
    exit 1
  fi
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "Install these packages as root, then run this again: ${missing[*]}" >&2; exit 1; }
    sudo=(sudo)
  fi
  say "Installing ${#missing[@]} missing packages"
  "${sudo[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# build_preset PRESET [TARGET...]: a new build folder joins sources (cmake/TofstreamCompiler.cmake), since all are to be
# compiled; one that was configured by hand stays as it is. AddressSanitizer looks at the libraries alone, so the tests
# that $preset has compiled are linked with them.
build_preset() {
  local name="$1" options=(-DTOFSTREAM_CUDA_COMPILE_ONLY="$cuda_compile_only")
  shift
  say "Building the $name preset"
  if [ ! -e "$root/build/$name/CMakeCache.txt" ]; then options+=(-DTOFSTREAM_UNITY=ON); fi
  if [ "$name" = asan ] && [ "$preset" != asan ]; then options+=(-DTOFSTREAM_TESTS_OF="$build"); fi
  (cd "$root" && cmake --preset "$name" "${options[@]}" --log-level=STATUS >"$root/build/configure-$name.log" 2>&1) || {
    tail -n 30 "$root/build/configure-$name.log" >&2
    exit 1
  }
  grep -h '^-- tofstream:' "$root/build/configure-$name.log" >&2 || true
  cmake --build "$root/build/$name" -j "$jobs" --target "${@:-all}"
}

mkdir -p "$root/build"
# Compilations are kept inside the tree unless the user keeps a cache elsewhere: a clean checkout builds fast again.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$root}" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS="pch_defines,time_macros,include_file_mtime,include_file_ctime"
# SPDX-License-Identifier: Apache-2.0
