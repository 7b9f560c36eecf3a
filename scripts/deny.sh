#!/usr/bin/env bash
# Checks licences, sources and bans of the dependency tree. Installs the pinned cargo-deny into .tools if it is not there.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION='0.20.2'

deny="$PWD/.tools/bin/cargo-deny"
if ! "$deny" --version 2>/dev/null | grep -qF "$VERSION"; then
  cargo install --quiet --locked --version "$VERSION" --root .tools --target-dir target/tools cargo-deny >&2
fi
"$deny" --locked check licenses bans sources
