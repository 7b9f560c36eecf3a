#!/usr/bin/env bash
# Breaks the reference host in one small way after another and asks whether the suite notices.
#
#   scripts/mutants.sh [FILE...]    files of reference-host/src; by default the core: argv, guest, registry, instance, calls
#
# Only the conformance suite and random testing judge; the host's own tests do not run. A mutant that nothing catches
# fails this script unless scripts/mutants.toml says why no guest can tell. MUTANTS_ITERATE=1 leaves out what an earlier
# run has caught. The mutants are made in a copy of the tree; a run of the core took 76 minutes on two cores that had other work.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION='27.1.0'
CORE=(argv.rs guest.rs registry.rs instance.rs 'calls/*.rs')
# The tests that judge: those of these targets that hold the reference host to something.
TARGETS=(suite random deviants)
NAME='reference_host'

mutants="$PWD/.tools/bin/cargo-mutants"
if ! "$mutants" mutants --version 2>/dev/null | grep -qF "$VERSION"; then
  cargo install --quiet --locked --version "$VERSION" --root .tools --target-dir target/tools cargo-mutants >&2
fi

files=()
for file in "${@:-${CORE[@]}}"; do
  files+=(--file "reference-host/src/$file")
done
tests=()
arguments=()
for target in "${TARGETS[@]}"; do
  tests+=(--test "$target")
  arguments+=("--cargo-arg=--test=$target")
done
iterate=()
if [[ -n ${MUTANTS_ITERATE:-} ]]; then
  iterate=(--iterate)
fi

# The tests must pass on what is there, or catching a mutant would mean nothing. One build folder for all mutants: only
# what changed is built again.
export CARGO_TARGET_DIR="$PWD/target/mutants"
cargo test --quiet -p wasi-cuda-conformance "${tests[@]}" "$NAME" >&2
status=0
"$mutants" mutants --baseline skip --timeout 120 --build-timeout 600 --no-shuffle --output target \
  --package wasi-cuda-host --test-package wasi-cuda-conformance \
  "${files[@]}" "${arguments[@]}" "${iterate[@]}" -- "$NAME" || status=$?
# 2: some survived, 3: some ran into the time limit. Anything else is no verdict on the suite.
if ((status != 0 && status != 2 && status != 3)); then
  exit 2
fi
python3 scripts/mutants.py target/mutants.out scripts/mutants.toml
