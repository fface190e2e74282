#!/usr/bin/env bash
# usage: clean_root.sh PACKAGES WORK. Installs each package of the folder PACKAGES, which tools/package made, into a Debian of
# this machine's release that has nothing else, and runs the five-line MLEM and a small pipeline there. As root, with
# debootstrap and the machine's sources of packages. WORK keeps the bare system for the next time, and a log of each kind.
# Ends with a line `N passed, N failed`; what failed is said in a line of its own that begins with FAILED.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: clean_root.sh PACKAGES WORK" >&2; exit 2; }
mkdir -p "$2"
packages="$(cd "$1" && pwd)" work="$(cd "$2" && pwd)"
source="$(cd "$(dirname "$0")/../.." && pwd)"
[ "$(id -u)" -eq 0 ] || { echo "clean_root.sh: only root can make a system to install into" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "clean_root.sh: debootstrap is not installed" >&2; exit 2; }

# within ROOT COMMAND: what bash runs there, with processes of its own, and nothing of this machine's environment.
within() {
  unshare --mount --pid --fork --mount-proc="$1/proc" chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive bash -euo pipefail -c "$2"
}

# bare_system ROOT: Debian's smallest, which finds packages where this machine finds them.
bare_system() {
  local release mirror
  release="$(. /etc/os-release && echo "$VERSION_CODENAME")"
  targets() { apt-get indextargets --format "$1" 'Created-By: Packages' 'Origin: Debian'; }
  mirror="$(targets '$(CODENAME) $(REPO_URI)' | sed -n "s/^$release //p" | head -1)"
  rm -rf "$1.part"
  debootstrap --variant=minbase "$release" "$1.part" "$mirror"
  targets 'deb $(REPO_URI) $(CODENAME) $(COMPONENT)' | sort -u >"$1.part/etc/apt/sources.list"
  apt-config dump Acquire >"$1.part/etc/apt/apt.conf.d/99machine"
  cp -L /etc/resolv.conf "$1.part/etc/resolv.conf"
  within "$1.part" 'apt-get update -q && apt-get upgrade -qy'
  mv "$1.part" "$1"
}

# new_root KIND FILE...: a copy of the bare system with these files, and what is run there, in /test.
new_root() {
  root="$work/$1"
  rm -rf "$root"
  cp -a "$work/bare" "$root"
  mkdir "$root/test"
  cp "${@:2}" "$source/share/examples/python/mlem.py" "$source/share/examples/c/mlem.c" "$root/test/"
  ! within "$root" 'ldconfig -p' | grep -qE 'libtbb|tofstream' || { echo "the bare system has libraries of tofstream's"; return 1; }
}

# What is run in each. The ball is 1000, and found within 10 %.
mlem='said=$(python3 /test/mlem.py); echo "$said"; [[ $said == "in the ball 9"* ]]'
pipeline='rm -rf /tmp/out && cd /tmp && tofstream run simulate_osem --out out --set photons.events=20000 --set image.voxel_mm=8 &&
  test -s out/image.nii.gz && test -s out/run.json && tofstream docs network >/dev/null'

try_archive() {
  new_root archive "$packages"/tofstream-*.tar.gz
  within "$root" 'apt-get install -qy --no-install-recommends python3 python3-numpy'
  # Unpacked in one place, then moved to another, whose name has a blank.
  within "$root" 'mkdir /opt/first && tar -xzf /test/tofstream-*.tar.gz -C /opt/first --strip-components=1'
  local run="export PATH=\"\$place/bin:\$PATH\"; $pipeline; export PYTHONPATH=\$(tofstream gadgets --python); $mlem"
  within "$root" "place=/opt/first; $run"
  within "$root" "mv /opt/first '/srv/another place'; place='/srv/another place'; $run; [[ \$PYTHONPATH == \"\$place\"/* ]]"
  within "$root" "test -s '/srv/another place/share/doc/tofstream/licences/README.txt'"
}

try_deb() {
  new_root deb "$packages"/*.deb
  within "$root" 'apt-get install -qy --no-install-recommends /test/tofstream_*.deb /test/libtofstream0_*.deb'
  within "$root" "$pipeline"
  within "$root" 'apt-get install -qy --no-install-recommends /test/python3-tofstream_*.deb'
  within "$root" "$mlem"
  within "$root" 'apt-get install -qy --no-install-recommends /test/libtofstream-dev_*.deb gcc libc6-dev'
  within "$root" 'cd /test && cc -std=c99 mlem.c -ltofstream -lm -o mlem && ./mlem | grep "^in the ball 9"'
  within "$root" 'for package in tofstream libtofstream0 libtofstream-dev python3-tofstream; do
    test -s /usr/share/doc/$package/copyright; done'
  within "$root" 'apt-get purge -qy tofstream libtofstream0 libtofstream-dev python3-tofstream
    left=$(find /usr /etc /var /opt -iname "*tofstream*"); echo "left: $left"; test -z "$left"'
}

try_wheel() {
  new_root wheel "$packages"/tofstream-*.whl
  within "$root" 'apt-get install -qy --no-install-recommends python3-numpy python3-venv'
  # NumPy is Debian's, since this machine may reach no other registry.
  within "$root" 'python3 -m venv --system-site-packages /opt/venv && /opt/venv/bin/pip install --no-index /test/tofstream-*.whl'
  local path='export PATH="/opt/venv/bin:$PATH"'
  within "$root" "$path; $mlem"
  within "$root" "$path; $pipeline"
  within "$root" "$path"'; cd /opt/venv/lib/python3*/site-packages
    test -s tofstream/share/doc/tofstream/licences/README.txt && test -s tofstream-*.dist-info/LICENSE
    pip uninstall -qy tofstream && test ! -e tofstream && test ! -e /opt/venv/bin/tofstream'
}

if [ ! -d "$work/bare" ]; then
  bare_system "$work/bare" >"$work/bare.log" 2>&1 || { tail -n 5 "$work/bare.log" >&2; echo "FAILED: no bare system: $work/bare.log" >&2; exit 1; }
fi
passed=0 failed=0
for pattern in archive:tofstream-*.tar.gz deb:tofstream_*.deb wheel:tofstream-*.whl; do
  kind="${pattern%%:*}"
  compgen -G "$packages/${pattern#*:}" >/dev/null || continue
  # A shell of its own: `set -e` holds in it, as it would not in the condition of an `if`.
  set +e
  (set -ex; "try_$kind") >"$work/$kind.log" 2>&1
  ended=$?
  set -e
  if [ "$ended" -eq 0 ]; then
    passed=$((passed + 1))
    rm -rf "${work:?}/$kind"
  else
    failed=$((failed + 1))
    tail -n 15 "$work/$kind.log" >&2
    echo "FAILED: $kind: $(grep -aE '^\+ within ' "$work/$kind.log" | tail -1 | cut -c1-300) in $work/$kind.log" >&2
  fi
done
[ $((passed + failed)) -gt 0 ] || { echo "FAILED: there is no package in $packages: run tools/package" >&2; exit 1; }
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
# SPDX-License-Identifier: Apache-2.0
