#!/bin/sh
exec python3 "$(dirname "$0")/mutation_test.py"
