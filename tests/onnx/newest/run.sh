#!/usr/bin/env bash
# Runs the node models of the newest ONNX standard, which the Python package onnx makes, and compares with the results that it has:
#   tests/onnx/newest/run.sh [--ampc PATH] [--python PYTHON] [--only TEXT]
# Makes what is missing below ~/.cache/ampc/newest: a virtual environment with onnx. Builds the optimised ampc. left_out.txt says which models do not
# pass, and why; each of its lines names at least one that fails. Models whose own inputs or outputs are strings, sequences or optionals are left out.
# The last line counts.
#   --ampc PATH      runs this binary and builds nothing
#   --python PYTHON  has onnx already; nothing is installed
#   --only TEXT      only models with TEXT in their name
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ampc/newest
python='' ampc='' only=''
while [ $# -gt 0 ]; do
  case "$1" in
    --python | --ampc | --only)
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
    python3 -m pip --python "$python" install --quiet onnx
    touch "$cache/venv/complete"
  fi
fi
if [ -z "$ampc" ]; then
  (cd "$root" && bazel build --noshow_progress //tools:ampc >&2)
  ampc=$root/bazel-bin/tools/ampc
fi
OMP_NUM_THREADS=1 exec "$python" "$root/tests/onnx/newest/newest.py" "$ampc" "$root/tests/onnx/newest/left_out.txt" "$only"
