#!/usr/bin/env bash
# Measures ampc beside Paddle Inference, ONNX Runtime, OpenVINO and onnxconverter-common, all in the same run, and prints one table per section:
#   tests/bench/run.sh [--quick] [--sections LIST] [--json FILE] [--ampc PATH] [--python PYTHON] [--models DIRECTORY] [...]
# Makes what is missing below ~/.cache/ampc/bench: a virtual environment with the peers (1 GB) and the real models (120 MB). Builds the optimised ampc.
#   --ampc PATH          measures this binary and builds nothing
#   --python PYTHON      has the peers already; nothing is installed
#   --models DIRECTORY   what tools/fetch_models.py made, with and without --onnx
#   --help               prints this and, where the peers are installed, the sections and the other options
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ampc/bench
peers=(paddlepaddle==2.6.2 onnxruntime openvino onnxconverter-common onnx 'numpy<2' setuptools)
python='' ampc='' models='' help='' rest=()
while [ $# -gt 0 ]; do
  case "$1" in
    --python | --ampc | --models)
      [ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
      declare "${1#--}=$2"
      shift 2 ;;
    -h | --help) help=1; shift ;;
    *) rest+=("$1"); shift ;;
  esac
done

if [ -n "$help" ]; then
  sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"
  python=${python:-$cache/venv/bin/python}
  [ ! -x "$python" ] || exec "$python" "$root/tests/bench/run.py" --models . --help
  exit
fi
if [ -z "$python" ]; then
  python=$cache/venv/bin/python
  if [ "$(cat "$cache/venv/peers" 2>/dev/null)" != "${peers[*]}" ]; then
    mkdir -p "$cache"
    rm -rf "$cache/venv"
    python3 -m venv --without-pip "$cache/venv"  # Debian's has no ensurepip; its pip installs into another interpreter
    python3 -m pip --python "$python" install --quiet "${peers[@]}"
    echo "${peers[*]}" > "$cache/venv/peers"
  fi
fi
if [ -z "$ampc" ]; then
  (cd "$root" && bazel build --noshow_progress --ui_event_filters=-info //tools:ampc)
  ampc=$root/bazel-bin/tools/ampc
fi
if [ -z "$models" ]; then
  models=$cache/models
  python3 "$root/tools/fetch_models.py" "$models"
  python3 "$root/tools/fetch_models.py" "$models" --onnx
fi
exec "$python" "$root/tests/bench/run.py" --ampc "$ampc" --models "$models" ${rest[@]+"${rest[@]}"}
