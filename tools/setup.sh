#!/usr/bin/env bash
# Installs what a build needs, by the packages' names, when it is missing. Quick when nothing is.
#   tools/setup.sh          what tools/test.sh needs
#   tools/setup.sh --ci     also what .ci/run needs: clang, its linker and run-time libraries
#   tools/setup.sh --cuda   also the CUDA toolkit for --config=cuda, into ~/.cache/ampc/cuda, unless $CUDA_HOME or /usr/local/cuda has one, and
#                           cuobjdump for its tests, into ~/.cache/ampc/cuda_tools
set -euo pipefail
[ "${1:-}" != --help ] || { sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit; }

packages=(
  bazel-bootstrap bazel-rules-java g++ python3 python3-pip python3-venv libpython3-dev graphviz
  libabsl-dev libprotobuf-dev protobuf-compiler zlib1g-dev
  libdnnl-dev libhwy-dev libcli11-dev libstb-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  dataset-fashion-mnist libonnx-testdata
  openmpi-bin
  clang-format cmake pkg-config zsh fish help2man groff-base
)
cuda=
for option in "$@"; do
  case "$option" in
    --ci) packages+=(clang libomp-dev libclang-rt-14-dev lld debootstrap dpkg-dev patchelf) ;;
    --cuda) cuda=wanted ;;
    *) echo "setup.sh: unknown argument '$option', there are --ci and --cuda" >&2; exit 2 ;;
  esac
done

run_as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  [[ $'\n'"$installed"$'\n' == *$'\n'"installed $package"$'\n'* ]] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup.sh: installing ${missing[*]}" >&2
  run_as_root apt-get update -qq
  run_as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
fi

# fetch FOLDER OPTION...: a folder of ~/.cache/ampc
fetch() {
  local folder=$HOME/.cache/ampc/$1 here before
  here=$(dirname "$(readlink -f "$0")")
  before=$(cat "$folder/packages" 2>/dev/null || true)
  PIP="${PIP:-python3 -m pip --retries 2}" python3 "$here/fetch_cuda.py" "${@:2}" "$folder"
  # Bazel looks for the toolkit once per server.
  [ "$before" = "$(cat "$folder/packages")" ] || (cd "$here/.." && bazel shutdown) || true
}
if [ -n "$cuda" ]; then
  [ -x "${CUDA_HOME:-/none}/bin/nvcc" ] || [ -x /usr/local/cuda/bin/nvcc ] || fetch cuda
  [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/cuobjdump" ] || fetch cuda_tools --toolkit cuobjdump
fi
