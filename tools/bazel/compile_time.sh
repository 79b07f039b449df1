#!/bin/bash
# Prints the compiler's user seconds with and without headers parsed beforehand (cc.bzl), one by one and joined (joined.bzl).
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -eq 0 ] || { grep '^# ' "$0" | cut -c3-; exit; }
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
compile() { g++ -O2 -DNDEBUG -std=c++20 -fPIC -ffp-contract=off -fno-semantic-interposition -I. "$@"; }
seconds() { local TIMEFORMAT=%U; { time "$@"; } 2>&1; }
each() { local source; for source in "${sources[@]}"; do compile "$@" -c "$source" -o /dev/null; done; }
cp tools/bazel/precompiled/common.inc "$work/headers.h"
compile -x c++-header "$work/headers.h" -o "$work/headers.h.gch"
headers=(-include "$work/headers.h")

sources=(passes/analysis/*.cc passes/cleanup/*.cc)
echo "passes/analysis and passes/cleanup, ${#sources[@]} sources: $(seconds each "${headers[@]}") s with parsed headers, $(seconds each) s without"
sources=(graph/ops/[ac]*.cc)
for source in "${sources[@]}"; do printf '#line 1 "%s"\n' "$source"; cat "$source"; done > "$work/joined.cc"
echo "graph/ops/[ac]*, ${#sources[@]} sources: $(seconds each "${headers[@]}") s one by one, $(seconds compile "${headers[@]}" -c "$work/joined.cc" -o /dev/null) s joined"
