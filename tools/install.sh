#!/usr/bin/env bash
# Installs ampc for people without Bazel: the command, libampc.so, headers, a CMake package, pkg-config files, completion for shells.
#   tools/install.sh --prefix DIR               builds, then installs; what an earlier version had there and this one has not is removed
#   tools/install.sh --prefix DIR --cuda        with the GPU backend: code for compute capability 9.0 and newer; --cuda=release: for 7.5 and newer
#   tools/install.sh --prefix DIR --uninstall   removes what was installed there
#   tools/install.sh --prefix DIR --no-build    installs what `bazel build //tools/install` built before
# With the GPU backend everything runs on machines without a GPU, too: the driver, cuBLASLt and cuDNN are looked for when a device is first used.
# DIR may be moved or packed afterwards. Everything is laid out beside it first: an installation that fails changes nothing.
set -euo pipefail
[ "${1:-}" != --help ] || { sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit; }
caller=$PWD
cd "$(dirname "$0")/.."
# Exit codes as those of the command: 2 usage, 5 a write that failed.
fail() { echo "install.sh: $2" >&2; exit "$1"; }
prefix= action=install build=yes cuda=
while [ $# -gt 0 ]; do
  case "$1" in
    --prefix) [ $# -gt 1 ] || fail 2 "--prefix needs a folder"; prefix=$2; shift ;;
    --prefix=*) prefix=${1#*=} ;;
    --cuda) cuda=cuda ;;
    --cuda=release) cuda=cuda_release ;;
    --no-build) build= ;;
    --uninstall) action=uninstall ;;
    *) fail 2 "unknown argument '$1', needed --prefix DIR [--cuda | --cuda=release] [--no-build] [--uninstall]" ;;
  esac
  shift
done
[ -n "$prefix" ] || fail 2 "--prefix DIR is needed"
[[ $prefix == /* ]] || prefix=$caller/$prefix
manifest=$prefix/share/ampc/manifest.txt

# Removes the files named on standard input, and folders that are empty then.
remove() {
  while read -r file; do
    rm -f "$prefix/$file"
    folder=$(dirname "$file")
    while [ "$folder" != . ] && rmdir "$prefix/$folder" 2> /dev/null; do folder=$(dirname "$folder"); done
  done
}

if [ "$action" = uninstall ]; then
  [ -f "$manifest" ] || fail 3 "$prefix has no installed ampc: share/ampc/manifest.txt is not there"
  files=$(cat "$manifest")
  remove <<< "$files"
  exit 0
fi

if [ -n "$build" ]; then
  tools/setup.sh ${cuda:+--cuda}
  bazel build --noshow_progress ${cuda:+--config=$cuda} //tools/install
fi
built=bazel-bin/tools/install/version.txt
[ -f "$built" ] || built=tools/install/version.txt
[ -z "$cuda" ] || grep -q ' cuda$' "$built" || fail 2 "--cuda --no-build: what was built is for the CPU only"
mkdir -p "$prefix" 2> /dev/null && stage=$(mktemp -d "$prefix/.ampc-install.XXXXXX" 2> /dev/null) || fail 5 "cannot write to $prefix"
trap 'rm -rf "$stage"' EXIT
python3 tools/install/layout.py "$stage" || fail 5 "cannot lay out the files in $prefix"

# From here on files are only renamed. The list names old and new ones until it is done, so that an interrupted change can be repeated or undone.
old=$(cat "$manifest" 2> /dev/null || true)
new=$(cat "$stage/share/ampc/manifest.txt")
mkdir -p "$prefix/share/ampc"
printf '%s\n%s\n' "$new" "$old" | sort -u | sed '/^$/d' > "$stage/manifest"
mv -f "$stage/manifest" "$manifest"
while read -r file; do
  mkdir -p "$prefix/$(dirname "$file")"
  mv -fT "$stage/$file" "$prefix/$file"
done <<< "$new"
comm -13 <(sort <<< "$new") <(sort <<< "$old") | sed '/^$/d' | remove
echo "installed $("$prefix/bin/ampc" --version) in $prefix"
