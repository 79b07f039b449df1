#!/usr/bin/env bash
# The four calls of prove.sh on a machine without a GPU: kernels on the emulated device; what stands for `ampc`, PyTorch and the tools of a GPU's
# machine takes their arguments and gives results as they would. Every stage has to leave its part of the report.
#   prove_test.sh PROVE_SH RUN_SH REPORT KERNELS_TEST OTHER_TEST CASES OPS...
set -u
folder=$TEST_TMPDIR/bundle tools=$TEST_TMPDIR/tools
mkdir -p "$folder"/{bin,data/cases,data/ops,data/losses} "$tools"
cp "$1" "$TEST_TMPDIR/prove.sh"
cp "$2" "$folder/run.sh"
cp "$3" "$folder/bin/report"
cp "$4" "$folder/bin/kernels_test"
cp "$5" "$folder/bin/models_test"
cp "$5" "$folder/bin/other_test"
cp "$6" "$folder/data/cases/"
cp "${@:7}" "$folder/data/ops/"
for network in simplenet guarded lenet lstm transformer; do
  for level in O0 O1 O2; do
    printf '{"event":"step","loss":%s}\n' 2.5 2.25 2 > "$folder/data/losses/${network}_$level.jsonl"
  done
done

cat > "$folder/bin/ampc" << 'EOF'
#!/usr/bin/env bash
case "$1 $*" in
  train*) while [ $# -gt 0 ]; do case "$1" in --level) level=$2 ;; train) network=$2 ;; esac; shift; done; cat "data/losses/${network}_$level.jsonl" ;;
  bench*--train*) echo "{\"model\":\"$2\",\"job\":\"train\",\"level\":\"O2\",\"dtype\":\"fp16\",\"batch\":32,\"p50_seconds\":0.5}" ;;
  bench*) echo "{\"model\":\"$2\",\"job\":\"run\",\"level\":\"O2\",\"dtype\":\"fp16\",\"batch\":8,\"p50_seconds\":0.25}" ;;
  *) echo "ampc 0" ;;
esac
EOF
echo 'echo "{}"' > "$folder/bin/roofline"
# PyTorch is there; compute-sanitizer runs its program; nsys is refused; ncu is absent.
cat > "$tools/python3" << 'EOF'
#!/usr/bin/env bash
[ "$1" != -c ] || exit 0
echo "{\"engine\":\"torch\",\"model\":\"$(basename "$1" .py)\",\"job\":\"train\",\"level\":\"O1\",\"dtype\":\"fp16\",\"batch\":32,\"p50_seconds\":0.5}"
EOF
printf '#!/usr/bin/env bash\nshift 4\nexec "$@"\n' > "$tools/compute-sanitizer"
printf '#!/usr/bin/env bash\necho "not permitted"\nexit 1\n' > "$tools/nsys"
chmod +x "$folder"/bin/* "$tools"/*
export PATH=$tools:$PATH OUT=$TEST_TMPDIR/results

failures=0
fail() { echo "$1"; failures=$((failures + 1)); }
# call N TEXT...: exit code 0, and lines (regular expressions) of its report.
call() {
  local n=$1 text
  shift
  "$TEST_TMPDIR/prove.sh" "$n" "$folder" --device cpu > "$TEST_TMPDIR/log" 2>&1 || { fail "call $n: exit code $?"; cat "$TEST_TMPDIR/log"; }
  for text in "$@"; do
    grep -qE -- "$text" "$OUT/call$n/report.txt" || fail "call $n: the report has no '$text'"
  done
  [ -s "$OUT/call$n.tar.gz" ] || fail "call $n: there is no archive"
}
call 1 "^amp +[0-9]+ +0 " "^kernels7 +[1-9][0-9]* +0 " "^models +7 +0 " "^transformer_O2 +3 .* 0.00e" "^ampc +simplenet +train" "^all tests passed"
call 2 "^other +7 +0 " "^memcheck +no finding" "^racecheck +no finding" "^ampc +bert +run" "^torch +torch_peer +train" "^torch +torch_models +train"
call 3 "^ampc +resnet50 +run" "^simplenet_O2"
grep -q "nsys refused or failed: exit code 1" "$OUT/call3/bench/profile_nsys.txt" || fail "call 3: nothing says that nsys is refused"
grep -q "ncu is not on this machine" "$OUT/call3/bench/profile_ncu.txt" || fail "call 3: nothing says that ncu is absent"
call 4 "^ampc +resnet50 +train" "^torch +torch_models +train"
"$TEST_TMPDIR/prove.sh" 5 "$folder" 2> /dev/null
[ $? = 2 ] || fail "a fifth call: exit code is not 2"
"$TEST_TMPDIR/prove.sh" 1 "$TEST_TMPDIR/none" 2> /dev/null
[ $? = 3 ] || fail "no bundle: exit code is not 3"
[ $failures = 0 ]
