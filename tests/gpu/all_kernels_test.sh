#!/usr/bin/env bash
# The kernel tests of the GPU bundle's run.sh, on the emulated device: no test fails, and together the programs run every kernel that the device has.
#   all_kernels_test.sh RUN_SH REPORT KERNELS_TEST OPS_TEST FUNCTORS_TEST
set -u
folder=$TEST_TMPDIR/bundle
mkdir -p "$folder"/{bin,data/cases,data/ops,tests/golden/paddle_numerics}
cp "$1" "$folder/run.sh"
cp "$2" "$folder/bin/report"
cp "$3" "$folder/bin/kernels_test"
cp "$4" "$folder/bin/ops_test"
cp "$5" "$folder/bin/functors_test"
cp tests/golden/ops/*.safetensors "$folder/data/ops/"
cp tests/autodiff/*.case "$folder/data/cases/"
for cases in tests/cuda/*/*.case; do cp "$cases" "$folder/data/cases/device_$(basename "$cases")"; done
cp tests/golden/paddle_numerics/*.json "$folder/tests/golden/paddle_numerics/"
cd "$folder" || exit 1

./run.sh --device cpu --stages amp,kernels,tests --shards 2
found=$?
[ $found = 0 ] || { echo "exit code $found, needed 0"; exit 1; }
grep -qE "^device kernels that ran: ([1-9][0-9]{2,}) of \\1$" results/report.txt || { echo "not every kernel ran"; exit 1; }
