#!/usr/bin/env bash
# run.sh of the GPU bundle on machines without a GPU: kernels on the emulated device, trainings on the CPU, and a test program that crashes, hangs or
# fails. The report must say what went wrong, and nothing else may be lost by it.
#   rehearsal_test.sh RUN_SH REPORT AMPC KERNELS_TEST ODD_PROGRAM CASES OPS...
set -u
folder=$TEST_TMPDIR/bundle
mkdir -p "$folder"/{bin,data/cases,data/ops,data/losses}
cp "$1" "$folder/run.sh"
cp "$2" "$folder/bin/report"
cp "$3" "$folder/bin/ampc"
cp "$4" "$folder/bin/kernels_test"
cp "$5" "$folder/bin/odd_test"
cp "$6" "$folder/data/cases/"
cp "${@:7}" "$folder/data/ops/"
cd "$folder" || exit 1
for level in O0 O2; do
  bin/ampc train simplenet --level "$level" --steps 3 --no-test --log-every 1 --json --batch 32 > "data/losses/simplenet_$level.jsonl" || exit 1
done

failures=0
# expect CODE NAME TEXT...: run.sh's exit code, and lines (regular expressions) of the report.
expect() {
  local code=$1 name=$2 text
  shift 2
  [ "$found" = "$code" ] || { echo "$name: exit code $found, needed $code"; failures=$((failures + 1)); }
  for text in "$@"; do
    grep -qE -- "$text" "results/report.txt" || { echo "$name: the report has no '$text'"; failures=$((failures + 1)); }
  done
  [ -s results.tar.gz ] || { echo "$name: there is no archive"; failures=$((failures + 1)); }
  [ $failures = 0 ] || cat results/report.txt
  rm -rf results results.tar.gz
}
run() { ./run.sh --device cpu "$@" > run.log 2>&1; found=$?; }

run --stages smoke,amp,kernels,tests,quick-train --shards 2
expect 0 "all is well" "^kernels0 +[1-9][0-9]* +0 " "^kernels1 +[1-9][0-9]* +0 " "^odd +7 +0 " "^simplenet_O2 +3 .* 0.00e\+00$" \
  "^device kernels that ran: ([1-9][0-9]*) of \1$" "^all tests passed"

AMPC_ODD=crash run --stages tests
expect 1 "a crash" "^odd +6 +1 " "failed: Odd.Crashes: ended the process with exit code 134" "^NOT ALL IS WELL"

AMPC_ODD=fail run --stages tests
expect 1 "failures" "^odd +5 +2 " "failed: Odd.FailsBesideOthers \(passes alone\)" "failed: Odd.Fails \(fails alone, too\)"

AMPC_ODD=kernel run --stages kernels,tests --shards 2
expect 1 "a kernel that no test runs" "failed: no test ran odd in f16"

AMPC_ODD=hang run --stages tests,train --until 4
expect 1 "a test that hangs" "failed: Odd.Hangs: took longer than it may" "no time was left for: train"

(AMPC_ODD=hang exec ./run.sh --device cpu --stages smoke,tests > run.log 2>&1) &
pid=$!
for ((i = 0; i < 100; ++i)); do
  grep -qs "RUN.*Odd.Hangs" results/tests/odd.log && break
  sleep 0.1
done
kill -TERM $pid
wait $pid
found=$?
expect 1 "a signal" "odd was stopped before it ended" "run.sh was stopped by a signal: what stands here is not all" "^simplenet_O2 +3 "

./run.sh --device cuda:0 --stages quick-train > run.log 2>&1
found=$?
expect 1 "a device or library that is missing" "^simplenet_O0 .*WRONG" "exit code 4: .*cuda:0"

[ $failures = 0 ]
