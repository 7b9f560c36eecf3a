#!/usr/bin/env bash
# Makes everything that checks the host on an NVIDIA GPU, to be carried to a machine that has one and no Rust:
#   scripts/gpu-check.sh                 builds it, and runs it here over soft-cuda
#   scripts/gpu-check.sh --build-only    builds it
# It comes to lie in target/gpu-check/bundle. On the other machine, in that folder:
#   bash check.sh [OUTPUT]               writes OUTPUT/report.json (default: ./report), in less than 8 minutes
set -euo pipefail

build_only=
for argument in "$@"; do
  case $argument in
    --build-only) build_only=1 ;;
    --help | -h)
      sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
      exit
      ;;
    *)
      echo "$argument: write --build-only, or nothing" >&2
      exit 2
      ;;
  esac
done

cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
out=$target/gpu-check
bundle=$out/bundle
rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/fixtures"

# The program, the kernel tests and the figures, each by the name that cargo chose for it.
built() {
  scripts/with-soft-cuda.sh cargo build --quiet --release --locked --features cuda "$@" \
    --message-format=json-render-diagnostics |
    python3 -c '
import json, sys
wanted = {"wasi-cuda-conformance": "wasi-cuda-conformance", "gpu_kernels": "kernels", "cuda": "figures"}
for line in sys.stdin:
    message = json.loads(line)
    name = wanted.get(message.get("target", {}).get("name"))
    if name and message.get("executable"):
        print(name, message["executable"])
'
}
{
  built --package wasi-cuda-conformance --bin wasi-cuda-conformance
  built --package wasi-cuda-host --test gpu_kernels --bench cuda
} | while read -r name path; do
  strip --strip-unneeded -o "$bundle/bin/$name" "$path"
  chmod +x "$bundle/bin/$name"
done
for program in wasi-cuda-conformance kernels figures; do
  [[ -x $bundle/bin/$program ]] || { echo "the build made no $program" >&2; exit 2; }
done
mkdir "$bundle/fixtures/kernels"
cp fixtures/kernels/*.ptx "$bundle/fixtures/kernels/"
cp scripts/gpu-check/check.sh "$bundle/"
git rev-parse HEAD > "$bundle/revision" 2> /dev/null || echo unknown > "$bundle/revision"

kib=$(du -sk "$bundle" | cut -f 1)
echo "$bundle: $((kib / 1024)) MiB"
if ((kib >= 64 * 1024)); then
  echo "that is more than the 64 MiB that can be carried" >&2
  exit 1
fi
if [[ -z $build_only ]]; then
  scripts/with-soft-cuda.sh bash "$bundle/check.sh" "$out/report"
fi
