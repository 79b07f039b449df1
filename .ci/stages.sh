# Sourced by run and full: stages of a check, their minutes, and the sum of their tests.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CI="${CI:-1}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0 status=0 minutes=

# stage NAME COMMAND...: runs it, prints the minutes it took, adds its last line to the sum if that is a count of tests.
stage() {
  local name=$1 start=$SECONDS code took
  shift
  echo "=== $name"
  "$@" 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
  elif [ "$code" -ne 0 ]; then
    failed=$((failed + 1))
  fi
  [ "$code" -eq 0 ] || status=1
  took=$(awk -v s=$((SECONDS - start)) 'BEGIN { printf "%.1f", s / 60 }')
  minutes+=$(printf '%-16s %6s minutes, exit %d' "$name" "$took" "$code")$'\n'
  echo "=== $name: exit $code, $took minutes"
}

# The minutes of all stages, then as the last line "N passed, N failed[, N skipped]"; exit status 0 only if every stage was green.
finish() {
  local line="$passed passed, $failed failed"
  printf '%s%-16s %6s minutes\n' "$minutes" "all" "$(awk -v s=$SECONDS 'BEGIN { printf "%.1f", s / 60 }')"
  [ "$skipped" -eq 0 ] || line="$line, $skipped skipped"
  echo "$line"
  exit "$status"
}
