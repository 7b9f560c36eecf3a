#!/usr/bin/env bash
# Breaks the reference host in one small way after another and asks whether the suite notices.
#
#   scripts/mutants.sh [FILE...]    files of reference-host/src; by default the core: argv, guest, registry, instance, calls
#
# Only the conformance suite and random testing judge; the host's own tests do not run. A mutant that nothing
# catches fails this script unless scripts/mutants.toml says why no guest can tell. Set MUTANTS_ITERATE=1 to leave out
# what an earlier run has caught.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION='27.1.0'
CORE=(argv.rs guest.rs registry.rs instance.rs 'calls/*.rs')
TESTS=(suite random)

mutants="$PWD/.tools/bin/cargo-mutants"
if ! "$mutants" mutants --version 2>/dev/null | grep -qF "$VERSION"; then
  cargo install --quiet --locked --version "$VERSION" --root .tools --target-dir target/tools cargo-mutants >&2
fi

files=()
for file in "${@:-${CORE[@]}}"; do
  files+=(--file "reference-host/src/$file")
done
tests=()
for test in "${TESTS[@]}"; do
  tests+=(--test "$test")
done
iterate=()
if [[ -n ${MUTANTS_ITERATE:-} ]]; then
  iterate=(--iterate)
fi

# One build folder for all mutants, so that only what changed is built again; survivors are this script's business.
status=0
CARGO_TARGET_DIR="$PWD/target/mutants" "$mutants" mutants \
  --package wasi-cuda-host --test-package wasi-cuda-conformance "${files[@]}" "${iterate[@]}" \
  --output target --minimum-test-timeout 60 --no-shuffle --gitignore true \
  -- "${tests[@]}" reference_host || status=$?
# 2: some survived, 3: some ran into the time limit. Anything else is no verdict on the host.
if ((status != 0 && status != 2 && status != 3)); then
  exit 2
fi
python3 scripts/mutants.py target/mutants.out scripts/mutants.toml
