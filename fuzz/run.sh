#!/usr/bin/env bash
# Runs each fuzz target, or those that are named, for so many seconds: `SECONDS_EACH=3600 fuzz/run.sh [TARGET…]`. Begins with the seeds that are
# committed and keeps what it finds in `fuzz/corpus`. Ends at the first target that fails; what made it fail is in `fuzz/artifacts`.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-3600}
[ $# -gt 0 ] || set -- $(cargo +nightly fuzz list)
for target in "$@"; do
  mkdir -p "fuzz/corpus/$target"
  seeds=()
  [ -d "fuzz/seeds/$target" ] && seeds=("fuzz/seeds/$target")
  printf '\n== %s\n' "$target"
  cargo +nightly fuzz run "$target" "fuzz/corpus/$target" "${seeds[@]}" -- -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=60 \
    -print_final_stats=1 2>&1 | grep -E 'stat::|ERROR|panicked|Test unit|BINGO|cov:' | tail -n 12
done
