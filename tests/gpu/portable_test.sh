#!/usr/bin/env bash
# portable.py on programs of this build: what they ask of a machine is in order, and what would not be is found.
#   portable_test.sh PORTABLE_PY AMPC LOOKS_BESIDE
set -u
portable=$1 folder=$TEST_TMPDIR/bundle
# expect CODE OUTPUT LIMIT...: the exit code of portable.py, and its output, a regular expression of all its lines.
expect() {
  local code=$1 wanted=$2 found output
  shift 2
  output=$(python3 "$portable" "$folder" "$@" 2>&1)
  found=$?
  if [ $found != "$code" ] || ! [[ $output =~ ^$wanted$ ]]; then
    printf 'exit code %s, needed %s; found:\n%s\nneeded:\n%s\n' "$found" "$code" "$output" "$wanted"
    exit 1
  fi
}

mkdir -p "$folder"/{bin,lib}
cp "$3" "$folder/bin/looks_beside"
expect 1 "portable.py: bin/looks_beside needs libz.so.1, which is not in lib"
ldd "$2" | awk '$3 ~ /^\// { print $3 }' | grep -vE '/(libc|libm|libdl|libpthread|librt|libstdc..|libgcc_s)\.so' | xargs cp -Lt "$folder/lib"
expect 0 "needs at most CXXABI 1\.3\..*, GLIBC 2\.[0-9]+, GLIBCXX 3\.4\.[0-9]+"
expect 1 ".*portable.py: bin/looks_beside needs GLIBC_2\.34 of libc.so.6, and machines may have 2\.33.*" GLIBC=2.33
cp "$2" "$folder/bin/ampc"
expect 1 "portable.py: bin/ampc does not look for its libraries in .ORIGIN/../lib"
