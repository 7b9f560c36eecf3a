#!/usr/bin/env bash
# Runs a command with soft-cuda as its CUDA driver: builds the library, and sets the paths where programs look for it,
# and where builds of the crate `cust` do.
#   scripts/with-soft-cuda.sh cargo test -p wasi-cuda-host --features cuda
#   scripts/with-soft-cuda.sh python3 program.py
set -euo pipefail

if [[ $# -eq 0 || $1 == --help || $1 == -h ]]; then
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"
  exit $(($# == 0 ? 2 : 0))
fi

root=$(cd "$(dirname "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
cargo build --quiet --release --locked --package soft-cuda --manifest-path "$root/Cargo.toml"

# The folder has the shape of a CUDA installation. A library that is the same stays untouched, so that nothing is linked again.
cuda=$target/soft-cuda
mkdir -p "$cuda/lib64"
built=$target/release/libsoft_cuda.so
if ! cmp --silent "$built" "$cuda/lib64/libcuda.so.1"; then
  cp "$built" "$cuda/lib64/libcuda.so.1.$$"
  mv "$cuda/lib64/libcuda.so.1.$$" "$cuda/lib64/libcuda.so.1"
fi
ln -sfn libcuda.so.1 "$cuda/lib64/libcuda.so"

export CUDA_LIBRARY_PATH=$cuda
export LD_LIBRARY_PATH=$cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# A kernel that does not end is stopped after about a fifth of a second.
export SOFT_CUDA_INSTRUCTION_BUDGET=${SOFT_CUDA_INSTRUCTION_BUDGET:-20000000}
exec "$@"
