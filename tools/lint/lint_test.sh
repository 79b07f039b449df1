#!/bin/sh
# Runs one of the scripts beside this one with its arguments.
script="$(dirname "$0")/$1"
shift
exec python3 "$script" "$@"
