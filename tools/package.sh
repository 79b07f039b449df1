#!/usr/bin/env bash
# Makes what people without a compiler install on Debian 12 or a system as new:
#   tools/package.sh [FOLDER]     default: dist; prints the paths of ampc_VERSION_amd64.deb and ampc-VERSION-linux-x86_64.tar.gz
#     --no-build                  of what `bazel build //tools/install` built before
#     --cuda                      ampc-cuda_VERSION_amd64.deb and ampc-VERSION-linux-x86_64-cuda.tar.gz: with the GPU backend, as that of
#                                 tools/install.sh --cuda; --cuda=release, too. They run on machines without a GPU as well
# Both have what tools/install.sh installs. The Debian package needs Debian's libraries, which apt installs with it. The archive has those that a
# system may lack in lib/ampc, so that it runs where it is unpacked.
set -euo pipefail
source "$(dirname "$0")/package_arguments.sh"
cuda= package=ampc ending= others=()
for argument in "$@"; do
  case "$argument" in
    --cuda) cuda=cuda ;;
    --cuda=release) cuda=cuda_release ;;
    *) others+=("$argument") ;;
  esac
done
[ -z "$cuda" ] || { package=ampc-cuda ending=-cuda; }
package_arguments "${others[@]}"
version=$(sed -n 's/^VERSION = "\(.*\)"/\1/p' tools/bazel/version.bzl)
[ -z "$build" ] || bazel build --noshow_progress ${cuda:+--config=$cuda} //tools/install >&2
# The same bytes for the same sources.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || date +%s)}

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
tools/install.sh --no-build ${cuda:+--cuda} --prefix "$stage/deb/usr" > /dev/null
cp -a "$stage/deb/usr" "$stage/ampc-$version"

# The Debian package: the libraries that it is linked with are found by Debian's own tool.
find "$stage/deb/usr/share/man" -name '*.1' -exec gzip -9n {} +
{
  printf 'ampc is licensed under the Apache License, version 2.0 (/usr/share/common-licenses/Apache-2.0).\n'
  printf 'It carries code of the libraries whose notices are in /usr/share/doc/ampc/licenses.\n'
} > "$stage/deb/usr/share/doc/ampc/copyright"
rm -r "$stage/deb/usr/share/ampc"  # the list of files for tools/install.sh --uninstall; dpkg has its own
mkdir -p "$stage/deb/DEBIAN" "$stage/debian"
printf 'Source: ampc\nPackage: ampc\nArchitecture: amd64\n' > "$stage/debian/control"
needs=$(cd "$stage" && dpkg-shlibdeps -O --ignore-missing-info -ldeb/usr/lib deb/usr/bin/ampc "deb/usr/lib/libampc.so.$version" ${cuda:+deb/usr/lib/libampc_device_code.so} 2> /dev/null | sed -n 's/^shlibs:Depends=//p')
cat > "$stage/deb/DEBIAN/control" <<END
Package: $package
Version: $version
Architecture: amd64
Maintainer: ampc
Installed-Size: $(du -sk "$stage/deb/usr" | cut -f1)
Depends: $needs
Suggests: libabsl-dev
${cuda:+Provides: ampc
Conflicts: ampc
Replaces: ampc
}Section: science
Priority: optional
Description: automatic mixed precision for trained models, and a runtime for them
 Rewrites models of ONNX and Paddle to fp16 or bf16, compares and runs them. The command, and libraries for C and C++.
END
echo 'activate-noawait ldconfig' > "$stage/deb/DEBIAN/triggers"
dpkg-deb --root-owner-group -Zxz --build "$stage/deb" "$folder/${package}_${version}_amd64.deb" > /dev/null

# The archive: what is linked beside the C library and the compiler's comes along, found from where it lies.
tree=$stage/ampc-$version
mkdir -p "$tree/lib/ampc"
libraries_beside "$tree/bin/ampc" "$tree/lib/libampc.so.$version" > "$stage/beside"
while read -r name path; do
  install -m 644 "$(readlink -f "$path")" "$tree/lib/ampc/$name"
  patchelf --set-rpath '$ORIGIN' "$tree/lib/ampc/$name"
done < "$stage/beside"
cut -d' ' -f2 "$stage/beside" | xargs python3 tools/install/notices.py "$tree/share/doc/ampc/licenses"
# The GPU backend's own library lies beside libampc.so.
patchelf --set-rpath "${cuda:+\$ORIGIN/../lib:}\$ORIGIN/../lib/ampc" "$tree/bin/ampc"
patchelf --set-rpath "${cuda:+\$ORIGIN:}\$ORIGIN/ampc" "$tree/lib/libampc.so.$version"
[ -z "$cuda" ] || patchelf --set-rpath '$ORIGIN:$ORIGIN/ampc' "$tree/lib/libampc_device_code.so"
(cd "$tree" && find . \( -type f -o -type l \) | sed 's/^\.\///' | LC_ALL=C sort > "$stage/manifest" && mv "$stage/manifest" share/ampc/manifest.txt)
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$stage" -cf - "ampc-$version" | gzip -9n > "$folder/ampc-$version-linux-x86_64$ending.tar.gz"
printf '%s\n' "$folder/${package}_${version}_amd64.deb" "$folder/ampc-$version-linux-x86_64$ending.tar.gz"
