#!/usr/bin/env bash
# Proves the GPU bundle on a machine that is lent for a few calls of at most ten minutes each:
#   tests/gpu/prove.sh N [FOLDER [OPTION...]]     N: 1 to 4; FOLDER: the bundle (tools/gpu_bundle.sh), default ampc_gpu; OPTIONs: more for its run.sh
#   1   smoke, kernels of AMP, all kernels in 8 processes, whole models, trainings against the CPU's losses, SimpleNet
#   2   all other tests, compute-sanitizer, a short table of speed beside PyTorch
#   3   profiles
#   4   the full table of speed
# Results go to callN in $OUT, or in the folder `results`, with a report and an archive. Nothing is started after nine minutes.
# Exit code: that of run.sh.
set -u
case "${1:-}" in
  1) stages=smoke,amp,kernels,models,train,claims ;;
  2) stages=smoke,tests,sanitize,beside ;;
  3) stages=smoke,profile ;;
  4) stages=smoke,bench ;;
  *) sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac
call=$1 folder=${2:-ampc_gpu}
[ -x "$folder/run.sh" ] || { echo "prove.sh: found no bundle in '$folder', needed what tools/gpu_bundle.sh makes" >&2; exit 3; }
mkdir -p "${OUT:-results}"
exec "$folder/run.sh" --stages "$stages" --until 540 --out "${OUT:-results}/call$call" "${@:3}"
