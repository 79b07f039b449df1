#!/usr/bin/env bash
# Runs networks of torchvision, timm and transformers (random weights, small) in ONNX Runtime and in ampc, and prints where they differ:
#   tests/wild/run.sh [--only GLOB,...] [--family NAME,...] [--list] [--resume] [--ampc PATH] [--python PYTHON] [...]
# Makes what is missing below ~/.cache/ampc/wild: a virtual environment with torch (CPU), torchvision, timm, transformers, onnx, onnxruntime and onnxscript
# (2 GB). Downloads no weights. Builds the optimised ampc.
#   --ampc PATH       runs this binary and builds nothing
#   --python PYTHON   has the packages already, as $AMPC_WILD_PYTHON has; nothing is installed
#   --help            prints this and, where the packages are installed, the other options
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ampc/wild
packages=(torch torchvision timm transformers onnx onnxruntime onnxscript numpy)
python=${AMPC_WILD_PYTHON:-} ampc='' help='' rest=()
while [ $# -gt 0 ]; do
  case "$1" in
    --python | --ampc)
      [ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
      declare "${1#--}=$2"
      shift 2 ;;
    -h | --help) help=1; shift ;;
    *) rest+=("$1"); shift ;;
  esac
done

if [ -n "$help" ]; then
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0"
  python=${python:-$cache/venv/bin/python}
  [ ! -x "$python" ] || exec "$python" "$root/tests/wild/run.py" --help
  exit
fi
if [ -z "$python" ]; then
  python=$cache/venv/bin/python
  if [ "$(cat "$cache/venv/packages" 2>/dev/null)" != "${packages[*]}" ]; then
    mkdir -p "$cache"
    rm -rf "$cache/venv"
    python3 -m venv --without-pip "$cache/venv"  # Debian's has no ensurepip; its pip installs into another interpreter
    python3 -m pip --python "$python" install --quiet "${packages[@]}"
    echo "${packages[*]}" > "$cache/venv/packages"
  fi
fi
if [ -z "$ampc" ]; then
  (cd "$root" && bazel build --noshow_progress --ui_event_filters=-info //tools:ampc)
  ampc=$root/bazel-bin/tools/ampc
fi
exec "$python" "$root/tests/wild/run.py" --ampc "$ampc" ${rest[@]+"${rest[@]}"}
