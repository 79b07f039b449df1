#!/usr/bin/env bash
# Proves and measures ampc on this machine's GPU. Part of the bundle that tools/gpu_bundle.sh makes; needs an NVIDIA driver and the
# libraries cuBLASLt and cuDNN 9, nothing else.
#   ./run.sh                    everything: tests, trainings against the CPU, benchmarks
#   ./run.sh --quick            the tests and one short training: a first check
#   ./run.sh --libs DIR[:DIR]   where the CUDA libraries are, if not in the usual places or in a Python environment
#   ./run.sh --out DIR          where the results go; default: results
#   ./run.sh --device cuda:1
# Ends with the report; exit code 0 when every test passed and every training agrees with the CPU's.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
quick=0 out=results device=cuda:0
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) quick=1 ;;
    --libs) export AMPC_CUDA_LIBS=$2; shift ;;
    --out) out=$2; shift ;;
    --device) device=$2; shift ;;
    *) echo "run.sh: unknown argument '$1'" >&2; exit 2 ;;
  esac
  shift
done
mkdir -p "$out"/{tests,train,bench}
out=$(cd "$out" && pwd)
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
cd "$here"
say() { echo "=== $*" >&2; }

{
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader 2>/dev/null || echo "no nvidia-smi"
  grep -m1 "model name" /proc/cpuinfo
  bin/ampc --version
} > "$out/machine.txt"

say "tests"
run_test() {  # NAME BINARY ARGS...
  local name=$1
  shift
  timeout 600 "$@" --gtest_output="json:$out/tests/$name.json" > "$out/tests/$name.log" 2>&1
  tail -n 1 "$out/tests/$name.log" >&2
}
run_test kernels bin/kernels_test data/ops/*.safetensors data/cases/*.case
for test in bin/*_test; do
  [ "$test" = bin/kernels_test ] || run_test "$(basename "$test" _test)" "$test"
done
if command -v compute-sanitizer > /dev/null; then
  timeout 600 compute-sanitizer --error-exitcode 9 bin/kernels_test data/ops/*.safetensors --gtest_filter='*elementwise*:*reduce*' \
    --gtest_output="json:$out/tests/sanitized.json" > "$out/tests/sanitized.log" 2>&1 || rm -f "$out/tests/sanitized.json"
fi

say "trainings against the CPU"
train() {  # NETWORK LEVEL STEPS ARGS...
  local network=$1 level=$2 steps=$3 place
  shift 3
  for place in cpu "$device"; do
    timeout 600 bin/ampc train "$network" --level "$level" --steps "$steps" --no-test --log-every 1 --json --device "$place" "$@" \
      > "$out/train/${network}_${level}_${place%%:*}.jsonl" 2>> "$out/train/errors.log"
  done
}
train simplenet O0 3 --batch 32
if [ $quick = 0 ]; then
  for level in O1 O2; do train simplenet "$level" 3 --batch 32; done
  for network in guarded lenet lstm transformer; do
    for level in O0 O1 O2; do train "$network" "$level" 30 --data data/fashion-mnist; done
  done
fi

if [ $quick = 0 ]; then
  say "benchmarks"
  bench() {  # FILE ARGS...
    local file=$1
    shift
    timeout 900 bin/ampc bench "$@" --device "$device" --json >> "$out/bench/$file.jsonl" 2>> "$out/bench/errors.log"
  }
  bin/roofline "$device" > "$out/roofline.json" 2>> "$out/bench/errors.log"
  bench simplenet simplenet --train --batch 512 --optimizer sgd --level O0,O1,O2
  bench simplenet simplenet --train --batch 512 --optimizer sgd --level O2 --accumulate 10
  bench resnet50 resnet50 --batch 1,8,64,256 --level O0,O1,O2
  bench resnet50 resnet50 --train --batch 32,128 --level O0,O1,O2
  bench bert bert --batch 1,8,64,256 --level O0,O1,O2
  bench bert bert --train --optimizer adam --batch 8,32 --level O0,O1,O2
  if python3 -c "import torch; assert torch.cuda.is_available()" 2> /dev/null; then
    timeout 900 python3 torch_peer.py > "$out/bench/torch.jsonl" 2>> "$out/bench/errors.log"
  fi
fi

bin/report "$out"
