#!/usr/bin/env bash
# Builds one folder that proves and measures ampc on any x86-64 Linux machine with an NVIDIA driver, cuBLASLt and cuDNN 9:
#   tools/gpu_bundle.sh [FOLDER]        default: ampc_gpu; run.sh in it says how to run it
#     --archs A                         for one kind of GPU, by its compute capability: 7.5, 8.0, 8.6, 8.9, or 9.0 and newer; without it for all of them.
#                                       It also packs FOLDER-quick.tar.xz, what `run.sh --quick` needs, in one file to copy
#     --cuda 12                         with a CUDA 12 toolkit, for drivers from 530 on; without it CUDA 13, for drivers from 580 on
# Everything is built here; the other machine needs neither compiler nor Bazel.
set -euo pipefail
[ "${1:-}" != --help ] || { sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit; }
cd "$(dirname "$0")/.."
folder=ampc_gpu options=(--config=cuda_release) quick= toolkit=13
while [ $# -gt 0 ]; do
  case "$1" in
    --archs)
      case "${2:-}" in
        7.5 | 8.0 | 8.6 | 8.9 | 9.0) options=(--config=cuda --define=cuda_archs="${2/./}") ;;
        *) echo "gpu_bundle.sh: --archs '${2:-}', needed 7.5, 8.0, 8.6, 8.9 or 9.0" >&2; exit 2 ;;
      esac
      quick=wanted
      shift ;;
    --cuda)
      case "${2:-}" in 12 | 13) toolkit=$2 ;; *) echo "gpu_bundle.sh: --cuda '${2:-}', needed 12 or 13" >&2; exit 2 ;; esac
      shift ;;
    -*) echo "gpu_bundle.sh: unknown argument '$1', needed [--archs A] [--cuda 12] [FOLDER]" >&2; exit 2 ;;
    *) folder=$1 ;;
  esac
  shift
done
if [ "$toolkit" = 12 ]; then
  export CUDA_HOME=~/.cache/ampc/cuda12
  tools/setup.sh
  tools/fetch_cuda.py --toolkit 12 "$CUDA_HOME"
else
  tools/setup.sh --cuda
fi
mapfile -t tests < <(bazel query --noshow_progress 'attr(tags, "gpu_bundle", //tests/...)' 2> /dev/null)
# The bundle's own libraries are found beside its programs, so that no variable has to say where they are, which other programs would see, too.
bazel build --noshow_progress "${options[@]}" --linkopt=-Wl,--disable-new-dtags,-rpath,'$ORIGIN/../lib' \
  //tools:ampc //tests/gpu:roofline //tests/gpu:report "${tests[@]}"

rm -rf "$folder.part"
mkdir -p "$folder.part"/{bin,lib,data/ops,data/cases,tests/golden}
install_program() { install -m 755 "bazel-bin/$1" "$folder.part/bin/$2" && strip "$folder.part/bin/$2"; }
install_program tools/ampc ampc
install_program tests/gpu/roofline roofline
install_program tests/gpu/report report
for test in "${tests[@]}"; do
  path=${test#//}
  name=${path##*:}
  name=${name%_cuda_test}
  install_program "${path/:/\/}" "${name%_test}_test"
done
# The libraries that a program needs, but those of the C library and the compiler, which have to be the machine's own.
for program in "$folder.part"/bin/*; do LD_LIBRARY_PATH="$PWD/bazel-bin/kernels/cuda" ldd "$program"; done | awk '$3 ~ /^\// { print $3 }' | sort -u |
  grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*|libresolv|libutil|libstdc..|libgcc_s)\.so' | while read -r library; do cp -L "$library" "$folder.part/lib/"; done
python3 tests/gpu/portable.py "$folder.part"
cp tests/golden/ops/*.safetensors "$folder.part/data/ops/"
cp tests/autodiff/*.case "$folder.part/data/cases/"
for cases in tests/cuda/*/*.case; do cp "$cases" "$folder.part/data/cases/device_$(basename "$cases")"; done
cp -r tests/golden/models "$folder.part/tests/golden/"
mkdir "$folder.part/tests/golden/paddle_numerics"
cp tests/golden/paddle_numerics/{loss_scaling,optimizers}.json "$folder.part/tests/golden/paddle_numerics/"
cp tests/gpu/run.sh tests/gpu/torch_peer.py tests/gpu/torch_models.py "$folder.part/"
python3 tests/gpu/idx_subset.py /usr/share/datasets/fashion-mnist "$folder.part/data/fashion-mnist" 4000
# The CPU's losses, which those of the device are held against.
mkdir "$folder.part/data/losses"
losses() {  # NETWORK STEPS ARGS...
  for level in O0 O1 O2; do
    "$folder.part/bin/ampc" train "$1" --level "$level" --steps "$2" --no-test --log-every 1 --json "${@:3}" > "$folder.part/data/losses/$1_$level.jsonl"
  done
}
losses simplenet 3 --batch 32
for network in guarded lenet lstm transformer; do losses "$network" 30 --data "$folder.part/data/fashion-mnist"; done
total=$(du -sm "$folder.part" | cut -f1)
rm -rf "$folder" "$folder-quick.tar.xz"
mv "$folder.part" "$folder"
echo "$folder: $total MB; on the machine with the GPU: run.sh in it"
if [ -n "$quick" ]; then
  # Programs that are linked statically are the same in large parts, which xz finds, far apart as they are.
  tar -C "$(dirname "$folder")" --exclude=fashion-mnist --exclude=roofline --exclude='torch_*' --exclude='losses/[^s]*' -cf - "$(basename "$folder")" |
    xz -6 --lzma2=preset=6,dict=64MiB -T2 > "$folder-quick.tar.xz"
  first=$(du -sm "$folder-quick.tar.xz" | cut -f1)
  echo "$folder-quick.tar.xz, for a first check: $first MB"
  [ "$first" -le 36 ] || { echo "gpu_bundle.sh: the packed first check may have 36 MB" >&2; exit 1; }
fi
[ "$total" -le 150 ] || { echo "gpu_bundle.sh: the folder may have 150 MB" >&2; exit 1; }
