#!/usr/bin/env bash
# Fuzzes the readers with libFuzzer under address and undefined-behaviour sanitizers.
#   tests/fuzz/run.sh [--seconds N | --runs N] [TARGET...]      default: 10,000,000 executions of every target
# What it learns stays in $AMPC_FUZZ_CORPUS (default ~/.cache/ampc/fuzz), a folder per target, and is where the next run begins. Inputs that broke something
# are kept in fuzz_found/. $AMPC_FUZZ names a binary that is built already. The last line is "N passed, N failed", counted by target; exit status 0 only if none failed.
set -uo pipefail
[ "${1:-}" != --help ] || { sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit; }
cd "$(dirname "$0")/../.."
limit=(-runs=10000000)
case "${1:-}" in
  --seconds) limit=("-max_total_time=$2"); shift 2 ;;
  --runs) limit=("-runs=$2" -seed=1); shift 2 ;;  # from an empty corpus the same inputs every time
  -*) echo "usage: run.sh [--seconds N | --runs N] [TARGET...]" >&2; exit 2 ;;
esac
fuzz=${AMPC_FUZZ:-}
if [ -z "$fuzz" ]; then
  bazel build --noshow_progress --color=no --config=fuzz //tests/fuzz || { echo "0 passed, 1 failed"; exit 1; }
  fuzz=bazel-bin/tests/fuzz/fuzz
fi
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <("$fuzz" | awk '{ print $1 }')
corpus=${AMPC_FUZZ_CORPUS:-${XDG_CACHE_HOME:-$HOME/.cache}/ampc/fuzz}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0
printf '%-12s %12s %9s %9s %8s\n' target executions per_second seconds coverage
for target in "${targets[@]}"; do
  mkdir -p "$corpus/$target" fuzz_found
  start=$SECONDS
  ASAN_OPTIONS=malloc_context_size=4:quarantine_size_mb=32 UBSAN_OPTIONS=print_stacktrace=1 "$fuzz" "$target" "${limit[@]}" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="fuzz_found/$target-" "$corpus/$target" "tests/fuzz/seeds/$target" > "$log" 2>&1
  code=$?
  printf '%-12s %12s %9s %9s %8s\n' "$target" "$(awk '/number_of_executed_units/ { print $2 }' "$log")" \
    "$(awk '/average_exec_per_sec/ { print $2 }' "$log")" $((SECONDS - start)) "$(awk '$3 == "cov:" { cov = $4 } END { print cov }' "$log")"
  if [ "$code" -eq 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    tail -n 60 "$log"
  fi
done
rmdir fuzz_found 2> /dev/null
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
