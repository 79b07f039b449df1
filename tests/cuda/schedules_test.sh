#!/usr/bin/env bash
# All kernels on the emulated device, by each of some schedules: schedules_test.sh SCHEDULE[+SCHEDULE...] KERNELS OPS FUNCTORS FILE...
# Files are the first program's.
set -u
schedules=$1 kernels=$2 ops=$3 functors=$4
shift 4
failed=0
for schedule in ${schedules//+/ }; do
  export AMPC_EMULATED=$schedule AMPC_KERNELS_RAN=/dev/null
  for program in "$kernels" "$ops" "$functors"; do
    files=()
    [ "$program" != "$kernels" ] || files=("$@")
    case "$program,$schedule" in
      # Products are a library's, which wants addresses as a plan has them.
      "$ops,displaced") files=('--gtest_filter=-Rnn.*:Linear.*:Einsum.*:*.Fc/*') ;;
      # Of millions of elements: minutes with a fiber for each thread.
      "$ops,"*teams*) files=('--gtest_filter=-ManyGradients.*:GroupNorm.AgreesWithDoubles:Norms.*') ;;
    esac
    if ! "$program" --gtest_brief=1 "${files[@]}" > "$TEST_TMPDIR/log" 2>&1; then
      echo "$(basename "$program"), $schedule:"
      grep -vE '^(left to the host|\[  SKIPPED)' "$TEST_TMPDIR/log" | head -n 100
      failed=1
    fi
    # A program that ran nothing would pass as well.
    grep -qE '^\[==========\] [1-9][0-9]* tests? .*ran' "$TEST_TMPDIR/log" || { echo "$(basename "$program"), $schedule: no test ran"; failed=1; }
  done
done
exit $failed
