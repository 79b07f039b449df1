#!/usr/bin/env bash
# Converts the ONNX models of the tests for ONNX Runtime's CPU provider and for OpenVINO (`ampc convert --runtime`), loads them there, and compares what
# they give with what the original gives there:
#   tests/onnx/runtimes/run.sh [--ampc PATH] [--python PYTHON] [--models DIRECTORY] [--only TEXT]
# Makes what is missing below ~/.cache/ampc/runtimes: a virtual environment with both. Builds the optimised ampc. left_out.txt says which models do not
# pass, and why; each of its lines names at least one that fails. The last lines count.
#   --ampc PATH         runs this binary and builds nothing
#   --python PYTHON     has onnx, onnxruntime and openvino already; nothing is installed
#   --models DIRECTORY  what `tools/fetch_models.py --onnx` made: these models, too
#   --only TEXT         only models with TEXT in their name
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ampc/runtimes
python='' ampc='' models='' only=''
while [ $# -gt 0 ]; do
  case "$1" in
    --python | --ampc | --models | --only)
      [ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
      declare "${1#--}=$2"
      shift 2 ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0"; exit ;;
    *) echo "run.sh: unknown argument $1" >&2; exit 2 ;;
  esac
done
if [ -z "$python" ]; then
  python=$cache/venv/bin/python
  if [ ! -e "$cache/venv/complete" ]; then
    mkdir -p "$cache"
    rm -rf "$cache/venv"
    python3 -m venv --without-pip "$cache/venv"  # Debian's has no ensurepip; its pip installs into another interpreter
    python3 -m pip --python "$python" install --quiet onnx onnxruntime==1.32.0 openvino==2026.4.1 numpy
    touch "$cache/venv/complete"
  fi
fi
if [ -z "$ampc" ]; then
  (cd "$root" && bazel build --noshow_progress //tools:ampc >&2)
  ampc=$root/bazel-bin/tools/ampc
fi
OMP_NUM_THREADS=1 exec "$python" "$root/tests/onnx/runtimes/runtimes.py" "$ampc" "$root/tests/onnx/runtimes/left_out.txt" "$models" "$only"
