#!/bin/sh
exec python3 "$(dirname "$0")/robust_test.py" "$@"
