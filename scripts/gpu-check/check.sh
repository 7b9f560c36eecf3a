#!/usr/bin/env bash
# Checks the reference host on this machine's CUDA device: bash check.sh [OUTPUT] [ORDINAL]
# Writes OUTPUT/report.json with a summary, and beside it what each part printed. Exit status: 0 all is well, 1 something is not, 2 OUTPUT cannot be made.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-report}
ordinal=${2:-0}
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
runtime=reference:cuda:$ordinal
seed=20260101
export WASI_CUDA_FIXTURES=$here/fixtures
started=$SECONDS
failed=0

# Runs a part within so many seconds; says how it ended, in its own file and on standard output.
part() {
  local name=$1 limit=$2 begun=$SECONDS status
  shift 2
  timeout --kill-after=5 "$limit" "$@" > "$out/$name.txt" 2> "$out/$name.err"
  status=$?
  printf '{"status":%d,"seconds":%d}\n' "$status" "$((SECONDS - begun))" > "$out/$name.end"
  printf '%-14s status %d after %d s: %s\n' "$name" "$status" "$((SECONDS - begun))" \
    "$(grep -v '^ *$' "$out/$name.txt" | tail -n 1 | cut -c 1-160)"
  if ((status != 0)); then
    failed=1
    grep -v '^ *$' "$out/$name.err" | tail -n 5 | sed 's/^/    /'
  fi
}

part conformance 240 "$here/bin/wasi-cuda-conformance" run --runtime "$runtime"
# The same once more for programs; where the first run did not end there is no time for a second.
[[ $(cat "$out/conformance.end") == *'"status":124'* ]] ||
  part conformance-json 120 "$here/bin/wasi-cuda-conformance" run --runtime "$runtime" --format json --output "$out/conformance.json"
part random 60 "$here/bin/wasi-cuda-conformance" random --runtime "$runtime" --runs 100 --seed "$seed"
part kernels 90 "$here/bin/kernels" --test-threads 2
part figures 60 "$here/bin/figures" --bench --json "$out/figures.json"

{
  printf '{"revision":"%s","runtime":"%s","seconds":%d' "$(cat "$here/revision")" "$runtime" "$((SECONDS - started))"
  gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null | head -n 1)
  printf ',"gpu":"%s"' "${gpu:-unknown}"
  for name in conformance random kernels figures; do
    printf ',"%s":%s' "$name" "$(cat "$out/$name.end")"
  done
  printf ',"conformance_result":"%s"' "$(grep -E 'cases passed|conformant' "$out/conformance.txt" | tail -n 1 | tr -d '"\\')"
  printf ',"kernels_result":"%s"' "$(grep 'test result' "$out/kernels.txt" | tail -n 1 | tr -d '"\\')"
  [[ -s $out/figures.json ]] && printf ',"measured":%s' "$(cat "$out/figures.json")"
  printf '}\n'
} > "$out/report.json"
rm -f "$out"/*.end
echo
cat "$out/report.json"
echo "$((SECONDS - started)) s; $out/report.json"
exit "$failed"
