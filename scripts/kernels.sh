#!/usr/bin/env bash
# Compiles the CUDA kernels of fixtures/kernels as their `// build:` lines say.
#
# Usage: scripts/kernels.sh [--check | --write] [NAME...]    (NAME is a source without `.cu`; all when none is named)
#
# Without an option the PTX is left in a folder that is printed; --check compares it with the committed files, --write
# replaces them. The compilers come from PyPI into .venv, at the version that scripts/ptxas.sh pins;
# nvcc needs g++ besides.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n "s/^PACKAGE='nvidia-cuda-nvcc==\(.*\)'$/\1/p" scripts/ptxas.sh)
packages=(
  "nvidia-cuda-nvcc==$version" "nvidia-cuda-crt==$version" "nvidia-cuda-runtime==$version"
  "nvidia-cuda-nvrtc==$version" "nvidia-nvvm==$version" "nvidia-cuda-cccl==13.3.5.0.6"
)
[[ -x .venv/bin/python ]] || python3 -m venv .venv
missing=$(.venv/bin/python - "${packages[@]}" <<'PYTHON'
import importlib.metadata, sys
installed = {d.metadata["Name"].replace("_", "-").lower(): d.version for d in importlib.metadata.distributions()}
print("\n".join(p for p in sys.argv[1:] if installed.get(p.split("==")[0]) != p.split("==")[1]))
PYTHON
)
if [[ -n $missing ]]; then
  # shellcheck disable=SC2086 # one package a word
  .venv/bin/python -m pip install --quiet --disable-pip-version-check $missing >&2
fi
exec .venv/bin/python scripts/kernels.py "$@"
