#!/usr/bin/env bash
# Builds what compare.py needs, gets Python with ONNX Runtime (below ~/.cache/ampc/extreme, or $AMPC_EXTREME_PYTHON), and runs it:
#   tests/extreme/compare.sh [--count N] [--first N] [--seed N]
#     --count N   models tried; 500 unless told
#     --first N   the first one's index
#     --seed N    of the generator
[ "${1:-}" != --help ] || { sed -n '2,/^\[/{/^\[/d;s/^# \{0,1\}//p}' "$0"; exit; }
set -euo pipefail
cd "$(dirname "$0")/../.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ampc/extreme
python=${AMPC_EXTREME_PYTHON:-$cache/venv/bin/python}
if [ ! -x "$python" ]; then
  python3 -m venv --without-pip "$cache/venv"  # Debian's has no ensurepip; its pip installs into another interpreter
  python3 -m pip --python "$python" install --quiet onnxruntime numpy
fi
bazel build --noshow_progress --color=no //tools:ampc //tests/extreme:sweep_main
exec "$python" tests/extreme/compare.py --sweep bazel-bin/tests/extreme/sweep_main --ampc bazel-bin/tools/ampc "$@"
