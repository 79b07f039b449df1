#!/usr/bin/env bash
# Installs the Debian packages that a build needs, by name, when they are missing. Quick when nothing is.
#   tools/setup.sh        what tools/test.sh needs
#   tools/setup.sh --ci   also what .ci/run needs: clang, its linker and run-time libraries
set -euo pipefail

packages=(
  bazel-bootstrap bazel-rules-java g++ python3 python3-pip graphviz
  libabsl-dev libprotobuf-dev protobuf-compiler zlib1g-dev
  libdnnl-dev libhwy-dev libcli11-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  dataset-fashion-mnist
  openmpi-bin
)
case "${1:-}" in
  "") ;;
  --ci) packages+=(clang libomp-dev libclang-rt-14-dev lld) ;;
  *) echo "setup.sh: unknown argument '$1', the only one is --ci" >&2; exit 2 ;;
esac

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  [[ $'\n'"$installed"$'\n' == *$'\n'"installed $package"$'\n'* ]] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

run_as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }
echo "setup.sh: installing ${missing[*]}" >&2
run_as_root apt-get update -qq
run_as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
