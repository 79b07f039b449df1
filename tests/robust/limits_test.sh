#!/bin/sh
exec python3 "$(dirname "$0")/limits_test.py" "$@"
