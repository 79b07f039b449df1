#!/usr/bin/env bash
# Proves and measures ampc on this machine's GPU. Part of the bundle that tools/gpu_bundle.sh makes; needs an NVIDIA driver and the
# libraries cuBLASLt and cuDNN 9, nothing else.
#   ./run.sh                    everything, what matters most first: smoke, kernels of AMP, all kernels, tests, trainings, claims, benchmarks
#   ./run.sh --quick            a first check: up to one short training
#   ./run.sh --stages A,B       of smoke, amp, kernels, tests, train, claims, bench, sanitize, and of what is in none of the others by itself: models
#                               (of the tests those of whole models), beside (a short table beside PyTorch), profile; in this order
#   ./run.sh --until SECONDS    starts nothing after so many seconds and stops what runs then; the report says what was left out
#   ./run.sh --shards N         into how many processes all kernels are split; default: 8
#   ./run.sh --libs DIR[:DIR]   where the CUDA libraries are, if not in the usual places or in a Python environment
#   ./run.sh --out DIR          where the results go, and DIR.tar.gz with all of them; default: results
#   ./run.sh --device cuda:1
# However it ends, it ends with the report. Exit code 0 when every test passed and every training agrees with the CPU's, 1 when not, 2 usage,
# 3 without any result.
set -uo pipefail
# Test programs report where this script says, and nowhere else.
unset XML_OUTPUT_FILE GTEST_OUTPUT
here=$(cd "$(dirname "$0")" && pwd)
stages=smoke,amp,kernels,tests,train,claims,bench,sanitize out=results device=cuda:0 until=1000000 shards=8
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) stages=smoke,amp,kernels,tests,quick-train ;;
    --stages) stages=$2; shift ;;
    --until) until=$2; shift ;;
    --shards) shards=$2; shift ;;
    --libs) export AMPC_CUDA_LIBS=$2; shift ;;
    --out) out=$2; shift ;;
    --device) device=$2; shift ;;
    *) echo "run.sh: unknown argument '$1'" >&2; exit 2 ;;
  esac
  shift
done
mkdir -p "$out"/{tests,train,bench}
out=$(cd "$out" && pwd)
export AMPC_KERNELS_RAN=$out/tests/kernels.txt  # each test program adds to it
cd "$here" || exit 3

say() { echo "=== $(printf '%4d' "$SECONDS") s: $*" >&2; }
left() { echo $((until > SECONDS ? until - SECONDS : 0)); }

child=
finish() {
  trap - EXIT TERM INT HUP
  [ -z "$child" ] || { kill -TERM "$child" 2> /dev/null; wait "$child" 2> /dev/null; }
  echo "$SECONDS seconds" >> "$out/machine.txt"
  bin/report "$out"
  local code=$?
  tar -czf "$out.tar.gz" -C "$(dirname "$out")" "$(basename "$out")" && echo "all results: $out.tar.gz" >&2
  exit "$code"
}
trap finish EXIT
trap 'echo "run.sh was stopped by a signal" >> "$out/stopped.txt"; exit 1' TERM INT HUP

# limited SECONDS COMMAND...: its exit code; 124 where it took longer than that or than what is left, 125 where nothing is left. A signal to this
# script does not wait for the command.
limited() {
  local most=$1 rest
  shift
  rest=$(left)
  [ "$rest" -gt 0 ] || return 125
  timeout --kill-after=10 $((most < rest ? most : rest)) "$@" &
  child=$!
  wait "$child"
  local code=$?
  child=
  return "$code"
}

# The test that a log was in when its process ended.
last_started() { awk '/^\[ RUN      \] /{ name = $4 } /^\[ +(OK|FAILED|SKIPPED) \] /{ name = "" } END { print name }' "$1"; }

# run_test NAME SECONDS COMMAND...: a GoogleTest program. NAME.status says how it ended, also where it leaves no result. A test that ends the process,
# or that takes all the time, is written down and left out of another run; each failure is run once more alone, launches waited for, because
# an illegal access makes everything behind it fail.
run_test() {
  local name=$1 most=$2 code try crashed without=
  shift 2
  echo started > "$out/tests/$name.status"
  for try in 1 2 3 4 5 6; do
    rm -f "$out/tests/$name.json"
    limited "$most" "$@" ${without:+--gtest_filter="-$without"} --gtest_output="json:$out/tests/$name.json" > "$out/tests/$name.log" 2>&1
    code=$?
    echo "$code" > "$out/tests/$name.status"
    [ -s "$out/tests/$name.json" ] || [ $code = 125 ] && break
    crashed=$(last_started "$out/tests/$name.log")
    cp "$out/tests/$name.log" "$out/tests/$name.crash$try.log"
    echo "$code ${crashed:-before its first test}" >> "$out/tests/$name.crashed"
    [ -n "$crashed" ] || break
    without=${without:+$without:}$crashed
  done
  run_failures_alone "$name" "$@"
  say "$name: exit code $code, $(tail -n 1 "$out/tests/$name.log" 2> /dev/null)"
}

run_failures_alone() {
  local name=$1 test count=0
  shift
  [ -s "$out/tests/$name.json" ] || return
  bin/report --failed "$out/tests/$name.json" | while read -r test && [ $count -lt 20 ]; do
    count=$((count + 1))
    CUDA_LAUNCH_BLOCKING=1 timeout --kill-after=10 "$(($(left) < 60 ? $(left) + 1 : 60))" "$@" --gtest_filter="$test" \
      > "$out/tests/$name.alone$count.log" 2>&1 < /dev/null
    echo "$? $test" >> "$out/tests/$name.alone"
  done
}

# The steps of a training on the device, for the report to hold against the CPU's, which the bundle has in data/losses.
train() {  # NETWORK LEVEL STEPS ARGS...
  local network=$1 level=$2 steps=$3 file=$out/train/${1}_${2}_device.jsonl
  shift 3
  cp "data/losses/${network}_${level}.jsonl" "$out/train/${network}_${level}_cpu.jsonl"
  limited 300 bin/ampc train "$network" --level "$level" --steps "$steps" --no-test --log-every 1 --json --device "$device" "$@" > "$file" 2> "$file.error"
  local code=$?
  [ $code = 0 ] || echo "exit code $code: $(tail -n 1 "$file.error")" > "$file.failed"
}

bench() {  # FILE ARGS...
  local file=$out/bench/$1
  shift
  limited 600 bin/ampc bench "$@" --device "$device" --json >> "$file.jsonl" 2>> "$file.error"
  local code=$?
  [ $code = 0 ] || echo "ampc bench $*: exit code $code: $(tail -n 1 "$file.error")" >> "$out/bench/failed.txt"
}

stage_smoke() {
  {
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader 2> /dev/null || echo "no nvidia-smi"
    grep -m1 "model name" /proc/cpuinfo
    bin/ampc --version
  } > "$out/machine.txt" 2>&1
  train simplenet O2 3 --batch 32
}
stage_amp() { run_test amp 200 bin/kernels_test --cases=amp data/cases/*.case; }
stage_kernels() {
  local shard
  for ((shard = 0; shard < shards; ++shard)); do
    run_test "kernels$shard" 300 env GTEST_TOTAL_SHARDS="$shards" GTEST_SHARD_INDEX="$shard" bin/kernels_test data/ops/*.safetensors data/cases/*.case
  done
}
stage_tests() {
  local test
  for test in bin/*_test; do
    [ "$test" = bin/kernels_test ] || run_test "$(basename "$test" _test)" 200 "$test"
  done
}
stage_models() { run_test models 200 bin/models_test; }
stage_quick-train() { train simplenet O0 3 --batch 32; }
stage_train() {
  local network level
  for level in O0 O1; do train simplenet "$level" 3 --batch 32; done
  for network in guarded lenet lstm transformer; do
    for level in O0 O1 O2; do train "$network" "$level" 30 --data data/fashion-mnist; done
  done
}
stage_claims() {
  limited 100 bin/roofline "$device" > "$out/roofline.json" 2>> "$out/bench/roofline.error"
  bench simplenet simplenet --train --batch 512 --optimizer sgd --level O0,O1,O2
}
torch() {  # FILE SCRIPT ARGS...
  local file=$out/bench/$1
  shift
  python3 -c "import torch; assert torch.cuda.is_available()" 2> /dev/null || { echo "no PyTorch with CUDA" >> "$file.error"; return; }
  limited 400 python3 "$@" >> "$file.jsonl" 2>> "$file.error"
}
# Of each model one batch of a training and two of inference.
stage_beside() {
  bench simplenet simplenet --train --batch 512 --optimizer sgd --level O0,O1,O2
  torch torch torch_peer.py
  bench resnet50 resnet50 --train --batch 32 --level O0,O1,O2
  bench bert bert --train --optimizer adam --batch 8 --level O0,O1,O2
  bench resnet50 resnet50 --batch 1,8 --level O0,O1,O2
  bench bert bert --batch 1,8 --level O0,O1,O2
  torch torch_resnet50 torch_models.py --models resnet50 --train 32 --run 1,8
  torch torch_bert torch_models.py --models bert --train 8 --run 1,8
}
# The time of a run by events; with Nsight's tools where they are and may look.
stage_profile() {
  local model level
  for model in resnet50 bert; do
    for level in O0 O2; do
      bench "${model}_$level" "$model" --batch 8 --level "$level" --ops 40 --profile "$out/bench/${model}_$level.trace.json"
    done
  done
  for level in O0 O2; do
    local train=(bin/ampc train simplenet --level "$level" --steps 20 --no-test --device "$device")
    profiler nsys nsys profile --force-overwrite true --stats true -o "$out/bench/simplenet_$level" "${train[@]}"
    profiler ncu ncu --set basic --launch-skip 100 --launch-count 60 "${train[@]}"
  done
}
profiler() {  # NAME COMMAND...: its output; where it is absent or refused that is said, and nothing fails
  local name=$1 file=$out/bench/profile_$1.txt code
  shift
  command -v "$1" > /dev/null || { echo "$name is not on this machine" >> "$file"; return; }
  limited 120 "$@" >> "$file" 2>&1
  code=$?
  [ $code = 0 ] || echo "$name refused or failed: exit code $code" >> "$file"
}
stage_bench() {
  torch torch torch_peer.py
  bench simplenet simplenet --train --batch 512 --optimizer sgd --level O2 --accumulate 10
  bench resnet50 resnet50 --train --batch 32,128 --level O0,O1,O2
  bench bert bert --train --optimizer adam --batch 8,32 --level O0,O1,O2
  bench resnet50 resnet50 --batch 1,8,64,256 --level O0,O1,O2
  bench bert bert --batch 1,8,64,256 --level O0,O1,O2
  torch torch_resnet50 torch_models.py --models resnet50 --train 32,128 --run 1,8,64,256
  torch torch_bert torch_models.py --models bert --train 8,32 --run 1,8,64,256
}
stage_sanitize() {
  local tool
  for tool in memcheck racecheck; do
    if command -v compute-sanitizer > /dev/null; then
      limited 300 compute-sanitizer --tool "$tool" --error-exitcode 9 bin/kernels_test --cases=amp data/cases/*.case > "$out/tests/$tool.log" 2>&1
      echo "$?" > "$out/tests/$tool.sanitizer"
    else
      echo "absent" > "$out/tests/$tool.sanitizer"
    fi
  done
}

for stage in ${stages//,/ }; do
  declare -F "stage_$stage" > /dev/null || { echo "run.sh: unknown stage '$stage'" >&2; exit 2; }
  if [ "$(left)" = 0 ]; then
    echo "$stage" >> "$out/left_out.txt"
    continue
  fi
  say "$stage"
  "stage_$stage"
  echo "$stage" >> "$out/stages.txt"
done
