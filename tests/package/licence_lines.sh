#!/usr/bin/env bash
# usage: licence_lines.sh SOURCE. Every source ends with a line that names its licence. Templates become their user's code,
# and pipelines, scanners and phantoms are there to be copied: they have none.
set -euo pipefail
cd "$1"
missing=$(find core gadgets kernels tools tests cmake share CMakeLists.txt -type f \
  \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.py' -o -name '*.sh' \
     -o -name '*.m' -o -name '*.js' -o -name '*.mjs' -o -name '*.css' -o -name '*.html' -o -name '*.cmake' -o -name 'CMakeLists.txt' \
     -o -path 'tools/*' ! -name '*.*' \) ! -path '*/node_modules/*' ! -path '*/__pycache__/*' -print0 |
  xargs -0 tail -v -n 1 |
  awk '/^==> .* <==$/ { if (file != "") print file; file = substr($0, 5, length($0) - 8); next }
       /SPDX-License-Identifier: Apache-2[.]0/ { file = "" }
       END { if (file != "") print file }')
[ -z "$missing" ] && exit 0
echo "the last line of these must be SPDX-License-Identifier: Apache-2.0, as a comment:" >&2
echo "$missing" >&2
exit 1
# SPDX-License-Identifier: Apache-2.0
