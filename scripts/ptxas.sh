#!/usr/bin/env bash
# Prints the path of NVIDIA's PTX assembler, which the tests of soft-gpu use as an oracle.
# Uses $PTXAS if it is set; otherwise installs the pinned package into .venv once.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGE='nvidia-cuda-nvcc==13.5.37'

installed() {
  local path
  for path in "$PWD"/.venv/lib/python3*/site-packages/nvidia/*/bin/ptxas; do
    if [[ -x $path ]]; then
      echo "$path"
      return 0
    fi
  done
  return 1
}

if [[ -n ${PTXAS:-} ]]; then
  if [[ ! -x $PTXAS ]]; then
    echo "PTXAS=$PTXAS is not an executable file" >&2
    exit 2
  fi
  echo "$PTXAS"
  exit
fi
installed && exit

{
  [[ -x .venv/bin/python ]] || python3 -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "$PACKAGE"
} >&2
if ! installed; then
  echo "$PACKAGE is installed in .venv but holds no ptxas for this platform" >&2
  exit 2
fi
