#!/usr/bin/env bash
# Changes sources by one token each, and says which of the changes no test finds:
#   tests/mutation/run.sh [FOLDER...] [--count N] [--seed S] [--resume] [--limit SECONDS] [--list] [...]
# FOLDER is a folder or a source of this tree; without one: graph passes runtime. Builds the tests that depend on it once, by Bazel, and then compiles and
# links each mutant beside that build, in ~/.cache/ampc/mutation. Exit status 1 where a mutant survived. README.md says how to read what it prints.
#   --help            the other options
set -euo pipefail
exec python3 "$(dirname "$0")/run.py" "$@"
