#!/usr/bin/env bash
# Not run, as meta.yaml says. Builds tofstream inside conda-build; the Python package lies where its Python looks.
set -euo pipefail
cmake -S . -B build/conda -G Ninja -DCMAKE_BUILD_TYPE=Release -DTOFSTREAM_TESTS=OFF -DTOFSTREAM_UNITY=ON \
  -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib ${CMAKE_ARGS:-}
cmake --build build/conda --parallel "${CPU_COUNT:-1}" --target installed_parts
cmake --install build/conda
cp -r "$PREFIX/share/tofstream/python/tofstream" "$SP_DIR/"
# SPDX-License-Identifier: Apache-2.0
