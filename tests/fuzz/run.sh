#!/usr/bin/env bash
# Fuzzes the readers with libFuzzer under address and undefined-behaviour sanitizers.
#   tests/fuzz/run.sh [--quick | --plain] [--until N | --runs N | --seconds N] [--jobs N] [--slice SECONDS] [TARGET...]
#     --quick       without the sanitizers, several times as many executions a second; what it learns, the next run with them executes first
#     --plain       as all other builds are: nothing counts branches, which the target `extreme` does without; its objects need not be compiled again
#     --until N     goes on until each target has had N executions, those of earlier calls counted in; the default, with 10,000,000
#     --runs N      N executions of each target; from an empty corpus they are the same every time
#     --seconds N   N seconds for each target
#     --jobs N      N targets at a time; 1 unless told
# The corpus stays in $AMPC_FUZZ_CORPUS (default ~/.cache/ampc/fuzz), a folder per target, and is where the next run begins; what was executed is counted
# in its file `counts` (`counts_quick`, `counts_plain`), a line "target executions seconds coverage" per slice (300 seconds), so that little is lost when it is stopped. Inputs that broke
# something are kept in fuzz_found/. $AMPC_FUZZ names a binary that is built already. The table has this call's executions and, last, all that were counted.
# The last line is "N passed, N failed", counted by target; exit status 0 only if none failed.
[ "${1:-}" != --help ] || { sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit; }
set -uo pipefail
cd "$(dirname "$0")/../.."
until=10000000 runs= seconds= jobs=1 slice=300 build=(--config=fuzz) counts=counts
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) build=(--config=fuzz_quick) counts=counts_quick; shift ;;
    --plain)
      build=(--define=libfuzzer=archive "--linkopt=$(dirname "$(clang -print-libgcc-file-name --rtlib=compiler-rt)")/libclang_rt.fuzzer-x86_64.a")
      counts=counts_plain
      shift
      ;;
    --until | --runs | --seconds | --jobs | --slice)
      [[ "${2:-}" =~ ^[0-9]+$ ]] || { echo "run.sh: $1 needs a number" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    -*) echo "usage: run.sh [--quick | --plain] [--until N | --runs N | --seconds N] [--jobs N] [--slice SECONDS] [TARGET...]" >&2; exit 2 ;;
    *) break ;;
  esac
done
fuzz=${AMPC_FUZZ:-}
if [ -z "$fuzz" ]; then
  bazel build --noshow_progress --color=no "${build[@]}" //tests/fuzz || { echo "0 passed, 1 failed"; exit 1; }
  fuzz=bazel-bin/tests/fuzz/fuzz
fi
targets=("$@")
# `extreme` runs only by name: an execution compiles and runs a model, which takes too long for a run of all.
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <("$fuzz" | awk '$1 != "extreme" { print $1 }')
corpus=${AMPC_FUZZ_CORPUS:-${XDG_CACHE_HOME:-$HOME/.cache}/ampc/fuzz}
mkdir -p "$corpus"
counts=$corpus/$counts
touch "$counts"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Four fifths of the time goes to executions, not to what libFuzzer thinks of them: no search for the rarest features, no smaller copy of what is known, no
# names of functions, no stack for every allocation (an input alone shows it). That is more than twice as many.
quick=(-entropic=0 -use_cmp=0 -reduce_inputs=0 -print_funcs=0)
export ASAN_OPTIONS=malloc_context_size=0:quarantine_size_mb=2:thread_local_quarantine_size_kb=64:allocator_release_to_os_interval_ms=-1:max_malloc_fill_size=0
# Memory that a model asks for is refused, as on a small machine.
ASAN_OPTIONS+=:max_allocation_size_mb=1500:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1

counted() { awk -v target="$1" '$1 == target { n += $2 } END { print n + 0 }' "$counts"; }

# Longer ones say little more of a reader and cost it much: twice as long as the longest seed, at least 256 bytes, at most 4096.
longest_input() {
  find "tests/fuzz/seeds/$1" -type f -printf '%s\n' | awk '{ if (2 * $1 > n) n = 2 * $1 } END { print (n < 256 ? 256 : n > 4096 ? 4096 : n) }'
}

# libFuzzer once, with the options that bound it; what the seeds and the corpus themselves need is not counted.
execute() {
  local target=$1 log="$work/$1.log" start=$SECONDS
  shift
  "$fuzz" "$target" "$@" -max_len="$(longest_input "$target")" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="fuzz_found/$target-" \
    "$corpus/$target" "tests/fuzz/seeds/$target" > "$log" 2>&1
  local code=$?
  awk -v target="$target" -v seconds=$((SECONDS - start)) '
    $2 == "INITED" { before = substr($1, 2) + 0 }
    $3 == "cov:" { coverage = $4 }
    /number_of_executed_units/ { all = $2 }
    END { if (all > before) print target, all - before, seconds, coverage + 0 }' "$log" | tee -a "$work/$target.now" >> "$counts"
  return $code
}

fuzz_target() {
  local target=$1 round=0 left files options
  mkdir -p "$corpus/$target" fuzz_found
  if [ -n "$runs" ]; then
    execute "$target" -runs="$runs" -seed=1 "${quick[@]}"
  elif [ -n "$seconds" ]; then
    execute "$target" -max_total_time="$seconds"
  else
    while left=$((until - $(counted "$target"))) && [ $left -gt 0 ]; do
      round=$((round + 1)) options=("${quick[@]}")
      [ $((round % 5)) -ne 1 ] || options=()
      # The seeds and the corpus come first, and libFuzzer tries some inputs of its own: with too few runs nothing would be left to count.
      files=$(find "$corpus/$target" "tests/fuzz/seeds/$target" -type f | wc -l)
      execute "$target" -runs=$((left + files + 1000)) -max_total_time="$slice" "${options[@]}" || return 1
    done
  fi
}

running=0
for target in "${targets[@]}"; do
  fuzz_target "$target" || touch "$work/$target.failed" &
  running=$((running + 1))
  [ $running -lt "$jobs" ] || { wait -n; running=$((running - 1)); }
done
wait

passed=0 failed=0
printf '%-12s %12s %9s %9s %9s %12s\n' target executions seconds rate coverage all
for target in "${targets[@]}"; do
  touch "$work/$target.now"
  awk -v target="$target" -v all="$(counted "$target")" '
    { n += $2; seconds += $3; if ($4 > coverage) coverage = $4 }
    END { printf "%-12s %12d %9d %9d %9d %12d\n", target, n, seconds, n / (seconds > 0 ? seconds : 1), coverage, all }' "$work/$target.now"
  if [ -e "$work/$target.failed" ]; then
    failed=$((failed + 1))
    tail -n 60 "$work/$target.log"
  else
    passed=$((passed + 1))
  fi
done
rmdir fuzz_found 2> /dev/null
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
