#!/usr/bin/env bash
# Runs programs that know nothing of this project on soft-cuda: one in C that links with -lcuda, one in Python that finds
# its functions by name, and a kernel that NVRTC compiles at run time. All are in reference-host/soft-cuda/tests/driver_api.
# Usage: scripts/driver-programs.sh
# Status: 0 all checks passed, 1 one failed (the line says which), 2 the programs could not be built.
set -euo pipefail
cd "$(dirname "$0")/.."

programs=reference-host/soft-cuda/tests/driver_api

if [[ ${1:-} != --inside ]]; then
  command -v gcc > /dev/null || { apt-get update --quiet && apt-get install --yes --quiet gcc libc6-dev; } >&2 || exit 2
  version=$(sed -n "s/^PACKAGE='nvidia-cuda-nvcc==\(.*\)'$/\1/p" scripts/ptxas.sh)
  nvrtc() { find .venv/lib/python3*/site-packages/nvidia -name 'libnvrtc.so.*' 2> /dev/null | head -n 1; }
  if [[ -z $(nvrtc) ]]; then
    [[ -x .venv/bin/python ]] || python3 -m venv .venv >&2 || exit 2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check "nvidia-cuda-nvrtc==$version" >&2 || exit 2
  fi
  NVRTC=$(nvrtc)
  if [[ -z $NVRTC ]]; then
    echo "nvidia-cuda-nvrtc==$version is installed in .venv but holds no libnvrtc for this platform" >&2
    exit 2
  fi
  export NVRTC
  exec scripts/with-soft-cuda.sh "$0" --inside
fi

# From here on soft-cuda is the driver.
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
gcc -std=c11 -O1 -g -Wall -Wextra -Werror "$programs"/*.c -o "$built/program" -L"$CUDA_LIBRARY_PATH/lib64" -lcuda || exit 2

# Runs a program, shows what failed, and adds a line to the summary. A program that ends early, however it ends, has failed.
failed=0
check() {
  local name=$1 status=0
  shift
  "$@" > "$built/out" 2>&1 || status=$?
  local passed
  passed=$(sed -n '$s/^\([1-9][0-9]*\) checks passed$/\1/p' "$built/out")
  if [[ $status -eq 0 && -n $passed && $passed -eq $(grep -c '^ok ' "$built/out") ]]; then
    echo "$name: $passed checks passed"
  else
    tail -n 5 "$built/out" >&2
    echo "$name: failed with status $status"
    failed=1
  fi
}

export PYTHONDONTWRITEBYTECODE=1
check 'C, linked with -lcuda' "$built/program" "$programs/kernels.ptx"
check 'Python, cuGetProcAddress' python3 "$programs/program.py" "$programs/kernels.ptx"
check 'NVRTC' python3 "$programs/nvrtc.py" "$programs/sums.cu" "$NVRTC"
exit "$failed"
