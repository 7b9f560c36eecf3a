#!/usr/bin/env bash
# Builds soft-cuda with AddressSanitizer, calls it at random from several threads, and runs the conformance suite on a
# reference host that drives it.
# Usage: scripts/asan.sh [--seconds N] [--seed N] [--no-suite]    (600 seconds of random calls if not said)
# Needs the nightly toolchain, and gcc for the sanitizer's shared runtime, under which the suite's ordinary program runs.
# Status: 0 nothing found, 1 something was, 2 it could not be built.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=600
seed=1
suite=yes
while [[ $# -gt 0 ]]; do
  case $1 in
    --seconds) seconds=${2:?a number} && shift 2 ;;
    --seed) seed=${2:?a number} && shift 2 ;;
    --no-suite) suite=no && shift ;;
    *)
      sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
      exit 2
      ;;
  esac
done

triple=$(rustc -vV | sed -n 's/^host: //p')
target=${CARGO_TARGET_DIR:-$PWD/target}/asan
built=$target/$triple/release
# A target that is named keeps the sanitizer out of macros and build scripts. Without full optimisation the build takes
# a fraction of the time.
CARGO_TARGET_DIR=$target RUSTFLAGS='-Zsanitizer=address -Cforce-frame-pointers=yes' CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
  cargo +nightly build --quiet --release --locked --target "$triple" -p soft-cuda --lib --example random_calls || exit 2

leaks=$(mktemp) kept=$(mktemp)
trap 'rm -f "$leaks" "$kept"' EXIT
# Memory that the random calls keep on purpose, since work of the driver's may come to it late.
printf 'leak:%s\n' body::draw::Arena arguments::LogOptions arguments::LogValues > "$kept"
status=0
echo "random calls for $seconds s, leaks looked for at the end:"
ASAN_OPTIONS=detect_leaks=1:exitcode=99 LSAN_OPTIONS=suppressions=$kept SOFT_CUDA_LEAKS=$leaks \
  SOFT_CUDA_MEMORY=268435456 SOFT_CUDA_INSTRUCTION_BUDGET=100000 \
  "$built/examples/random_calls" --seconds "$seconds" --threads "$(nproc)" --seed "$seed" || status=1
cat "$leaks"
grep -qx 'soft-cuda: leaked: none' "$leaks" || status=1
[[ $suite == yes ]] || exit "$status"

echo 'the conformance suite on reference:cuda:'
scripts/with-soft-cuda.sh cargo build --quiet --release --locked -p wasi-cuda-conformance --features cuda || exit 2
runtime=$(gcc -print-file-name=libasan.so)
[[ -e $runtime ]] || { echo 'gcc has no libasan.so' >&2; exit 2; }
mkdir -p "$target/cuda"
cp "$built/libsoft_cuda.so" "$target/cuda/libcuda.so.1"
# Guests trap by signals, which are the engine's own to handle; leaks would be those of the ordinary program. Some cases take
# long like this, and a case that ran out of time would be an error.
ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigill=0:handle_sigfpe=0:exitcode=99 \
  LD_PRELOAD=$(realpath "$runtime") LD_LIBRARY_PATH=$target/cuda SOFT_CUDA_LEAKS=$leaks SOFT_CUDA_INSTRUCTION_BUDGET=20000000 \
  "${CARGO_TARGET_DIR:-$PWD/target}/release/wasi-cuda-conformance" run --runtime reference:cuda --timeout 60 || status=1
cat "$leaks"
grep -qx 'soft-cuda: leaked: none' "$leaks" || status=1
exit "$status"
