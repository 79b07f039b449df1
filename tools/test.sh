#!/usr/bin/env bash
# Builds and tests everything, then prints as the last line "N passed, N failed" (and ", N skipped" where there are any), counted by test case.
#   tools/test.sh [bazel options] [targets]     e.g. tools/test.sh --config=asan //tests/graph/...
# Exit status 0 only if every target built, at least one test ran and none failed.
set -uo pipefail
[ "${1:-}" != --help ] || { sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit; }
cd "$(dirname "$0")/.."
tools/setup.sh || { echo "0 passed, 1 failed"; exit 1; }

# Bazel 4 never removes anything from the disk cache that .bazelrc names. It may hold 20 GB, and what leaves 20 GB of the disk for what is built; what
# was used last stays.
cache=~/.cache/ampc/bazel limit=20000000000
if [ -d "$cache" ]; then
  held=$(du -s -B1 "$cache" | cut -f1) room=$(df --output=avail -B1 "$cache" | tail -n 1)
  most=$((held + room - limit < limit ? held + room - limit : limit))
  find "$cache" -type f -printf '%T@ %b %p\n' | sort -rn | awk -v most="$most" '(held += 512 * $2) > most { sub(/^[^ ]* [^ ]* /, ""); print }' |
    xargs -r -d '\n' rm -f
fi

# The real models of //tests/e2e. If they cannot be had, their tests are skipped; the folder is named only when it is complete, so that
# Bazel does not take the result of a skipped test for that of a later run.
models=${AMPC_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/ampc/quickstart/models}
export PIP="${PIP:-python3 -m pip --retries 1 --timeout 20}"
if tools/fetch_models.py "$models" && tools/fetch_models.py "$models" --onnx; then
  export AMPC_MODELS=$models
else
  unset AMPC_MODELS
  echo "test.sh: the tests of real models are skipped, for the reason above" >&2
fi

options=(--test_env=AMPC_MODELS) targets=()
for arg in "$@"; do
  case "$arg" in
    --) ;;
    //* | -//*) targets+=("$arg") ;;
    *) options+=("$arg") ;;
  esac
done
[ ${#targets[@]} -gt 0 ] || targets=(//...)
[ -z "${CI:-}" ] || options+=(--noshow_progress --color=no)
# A sandbox is a thousand symbolic links: made in memory where that has room for what is linked there (4 GB; containers often have 64 MB).
room=$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)
[ "${room:-0}" -lt 4000000 ] || options+=(--sandbox_base=/dev/shm)

events=$(mktemp)
trap 'rm -f "$events"' EXIT
bazel test --keep_going --build_event_json_file="$events" "${options[@]}" -- "${targets[@]}"
status=$?
python3 tools/count_tests.py "$events" || status=1
exit "$status"
