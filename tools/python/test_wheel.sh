#!/usr/bin/env bash
# Installs a wheel of build_wheel.sh into a fresh virtual environment and runs the tests of tests/python there:
#   tools/python/test_wheel.sh WHEEL                      with NumPy alone
#   tools/python/test_wheel.sh WHEEL --beside PACKAGE...  with these packages of PyPI, too: torch, onnxruntime, onnx, ...
#     --tests FILE...                                     only these of tests/python
#     --python PROGRAM                                    with this interpreter, python3 by default
# Needs PyPI for NumPy and pytest.
set -euo pipefail
[ "${1:-}" != --help ] || { sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit; }
[ $# -ge 1 ] || { echo "test_wheel.sh: the wheel is needed" >&2; exit 2; }
wheel=$(readlink -f "$1")
shift
beside=() tests=() to= python=python3
for argument in "$@"; do
  case "$argument" in
    --beside) to=beside ;;
    --tests) to=tests ;;
    --python) to=python ;;
    *) [ "$to" = python ] && { python=$argument to=; continue; }
      [ "$to" = tests ] && tests+=("$argument") || beside+=("$argument") ;;
  esac
done
cd "$(dirname "$0")/../.."
root=$PWD
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
"$python" -m venv "$environment"
"$environment/bin/pip" install --quiet --retries 2 --disable-pip-version-check "$wheel" numpy pytest "${beside[@]}"
[ ${#tests[@]} -gt 0 ] || tests=(tests/python)
# Not from the tree, where the package has no native part.
cd "$environment"
code=0
AMPC_TREE=$root "$environment/bin/python" -m pytest -q -rs -p no:cacheprovider "${tests[@]/#/$root/}" | tee log || code=$?
count() { local n; n=$(tail -n 1 log | grep -oE "[0-9]+ $1" | cut -d' ' -f1) || true; echo "${n:-0}"; }
# As all stages of .ci end.
echo "$(count passed) passed, $(($(count failed) + $(count error))) failed, $(count skipped) skipped"
exit "$code"
