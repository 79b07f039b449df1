#!/usr/bin/env bash
# Builds one folder that proves and measures ampc on any x86-64 Linux machine with an NVIDIA driver, cuBLASLt and cuDNN 9:
#   tools/gpu_bundle.sh [FOLDER]        default: ampc_gpu; run.sh in it says how to run it
# Everything is built here; the other machine needs neither compiler nor Bazel. `--archs ci` builds for compute capability 9.0 only.
set -euo pipefail
[ "${1:-}" != --help ] || { sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit; }
cd "$(dirname "$0")/.."
folder=ampc_gpu config=cuda_release
while [ $# -gt 0 ]; do
  case "$1" in
    --archs) [ "$2" = ci ] && config=cuda; shift ;;
    -*) echo "gpu_bundle.sh: unknown argument '$1', needed [--archs ci] [FOLDER]" >&2; exit 2 ;;
    *) folder=$1 ;;
  esac
  shift
done
tools/setup.sh --cuda
mapfile -t tests < <(bazel query --noshow_progress 'attr(tags, "gpu_bundle", //tests/...)' 2> /dev/null)
# The bundle's own libraries are found beside its programs, so that no variable has to say where they are, which other programs would see, too.
bazel build --noshow_progress --config="$config" --linkopt=-Wl,--disable-new-dtags,-rpath,'$ORIGIN/../lib' \
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
for program in "$folder.part"/bin/*; do LD_LIBRARY_PATH=bazel-bin/kernels/cuda ldd "$program"; done | awk '$3 ~ /^\// { print $3 }' | sort -u |
  grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*|libresolv|libutil|libstdc..|libgcc_s)\.so' | while read -r library; do cp -L "$library" "$folder.part/lib/"; done
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
# What `run.sh --quick` needs, in one file to copy.
tar -C "$folder.part" --transform "s,^\.,$(basename "$folder")," -czf "$folder-quick.tar.gz" .
quick=$(du -sm "$folder-quick.tar.gz" | cut -f1)
rm -rf "$folder"
mv "$folder.part" "$folder"
echo "$folder: $total MB; $folder-quick.tar.gz, for a first check: $quick MB; on the machine with the GPU: run.sh in it"
if [ "$quick" -gt 50 ] || [ "$total" -gt 150 ]; then
  echo "gpu_bundle.sh: the folder may have 150 MB and the packed first check 50 MB" >&2
  exit 1
fi
