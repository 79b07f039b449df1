#!/usr/bin/env bash
# Installs what tools/package.sh made into fresh systems of Debian 12 without a compiler, each a folder of debootstrap, and uses it there:
#   tests/install/packages.sh FOLDER     FOLDER has one .deb and one .tar.gz, also those with the GPU backend
# Needs root, debootstrap, and the mirror that apt uses.
set -euo pipefail
[ "${1:-}" != --help ] || { sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit; }
[ $# -eq 1 ] || { echo "packages.sh: the folder with the packages is needed" >&2; exit 2; }
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
roots=$(mktemp -d)
trap 'umount -q "$roots"/*/proc || true; rm -rf --one-file-system "$roots"' EXIT
passed=0 failed=0
check() {
  local what=$1
  shift
  if "$@" > "$roots/log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $what"; cat "$roots/log"; fi
}

site=$(apt-get indextargets --format '$(SITE)' 'Release: bookworm' 'Created-By: Packages' | head -n 1)
debootstrap --variant=minbase bookworm "$roots/archive" "$site" > "$roots/debootstrap.log" 2>&1 || { tail "$roots/debootstrap.log" >&2; exit 5; }
cp -a "$roots/archive" "$roots/package"
for root in archive package; do
  mkdir "$roots/$root/models"
  cp tests/golden/models/recogniser.pd* tests/golden/onnx/small.onnx "$roots/$root/models"
  mount -t proc proc "$roots/$root/proc"  # the number of processors
done
in_root() { chroot "$roots/$1" /bin/sh -ec "cd /models && $2"; }

check "no compiler" in_root package '! command -v gcc && ! command -v c++'
cp "$folder"/*.deb "$roots/package/models/ampc.deb"
name=$(dpkg-deb -f "$folder"/*.deb Package)
check "apt installs the package" in_root package 'apt-get update -qq && apt-get install -y -qq --no-install-recommends ./ampc.deb'
tar -C "$roots/archive/opt" -xzf "$folder"/*.tar.gz
mv "$roots"/archive/opt/ampc-* "$roots/archive/opt/ampc"
version=$(sed -n 's/^VERSION = "\(.*\)"/\1/p' tools/bazel/version.bzl)
for root in package archive; do
  bin=$([ $root = package ] && echo /usr/bin || echo /opt/ampc/bin)
  check "$root: version" in_root $root "[ \"\$($bin/ampc --version)\" = 'ampc $version' ]"
  check "$root: converts ONNX" in_root $root "$bin/ampc convert small.onnx -o low.onnx && $bin/ampc compare small.onnx low.onnx --random"
  check "$root: converts Paddle" in_root $root "$bin/ampc convert recogniser.pdmodel -o low.pdmodel && $bin/ampc compare recogniser.pdmodel low.pdmodel --random"
  check "$root: says what it does" in_root $root "$bin/ampc convert --help"
  check "$root: the library loads" in_root $root "LD_PRELOAD=$(dirname $bin)/lib/libampc.so /bin/true"
  check "$root: pages" test -f "$roots/$root$(dirname $bin)/share/doc/ampc/README.md"
done
for library in "$roots"/archive/opt/ampc/lib/ampc/*; do
  name=$(basename "$library" | sed 's/[-.0-9]*so.*//; s/_.*//; s/^libz$/zlib/' | tr 'A-Z' 'a-z')
  check "archive: a notice of $name" sh -c "ls '$roots/archive/opt/ampc/share/doc/ampc/licenses' | grep -q '$name'"
done
check "package: notices" test -f "$roots/package/usr/share/doc/ampc/copyright" -a -f "$roots/package/usr/share/doc/ampc/licenses/libabsl-dev.txt"
check "package: man pages" test -f "$roots/package/usr/share/man/man1/ampc-convert.1.gz"
check "apt removes the package" in_root package "apt-get purge -y -qq $name && ! command -v ampc && [ ! -e /usr/share/doc/ampc ]"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
