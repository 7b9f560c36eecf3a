#!/usr/bin/env bash
# Changes every PTX source at hand in small ways and asks the software GPU's verifier and NVIDIA's assembler about each.
#
#   scripts/ptxas-agreement.sh [--mutants N] [--seed S] [--jobs J]      by default 6000, seed 1, one job for each CPU
#
# Prints how many verdicts agree, by kind of change, and every kind of disagreement with a small source under
# target/agreement. Fails below 99 %, and on a kind that reference-host/soft-gpu/tests/agreement/known.txt does not list.
# ptxas's answers are kept in target/agreement, so that a second run of a seed is quick.
set -euo pipefail
cd "$(dirname "$0")/.."

mutants=6000
seed=1
jobs=$(nproc)
while (($#)); do
  case $1 in
    --mutants) mutants=$2 ;;
    --seed) seed=$2 ;;
    --jobs) jobs=$2 ;;
    *)
      sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
      exit 2
      ;;
  esac
  shift 2
done

PTXAS=$(scripts/ptxas.sh)
export PTXAS
AGREEMENT_MUTANTS=$mutants AGREEMENT_SEED=$seed AGREEMENT_JOBS=$jobs \
  cargo test --quiet -p soft-gpu --test agreement -- --nocapture
