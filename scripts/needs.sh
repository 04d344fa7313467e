#!/usr/bin/env bash
# Installs what building Colloquy and its engine needs and this machine lacks. Looks for the
# programs first: where they are all there, it touches neither the network nor the package lists.
set -euo pipefail

fail() {
    echo "colloquy: $*" >&2
    exit 1
}

command -v cargo >/dev/null || fail "Rust is missing. Install it from https://rustup.rs and run this again."

missing=()
need() { # PACKAGE COMMAND...
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}
need g++ g++ --version
need cmake cmake --version
need ninja-build ninja --version
# Only to fetch the default model and the source of the engine; nothing runs on Python.
need python3-pip python3 -m pip --version

[ ${#missing[@]} -eq 0 ] && exit 0

command -v apt-get >/dev/null ||
    fail "these are missing: ${missing[*]} (Debian's names). Install them with this system's package manager and run this again."

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "these packages are missing: ${missing[*]}. As root: apt-get install ${missing[*]}"
    as_root=(sudo)
fi

echo "colloquy: installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq ||
    echo "colloquy: the package lists could not be refreshed; trying with what is here" >&2
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "these packages could not be installed: ${missing[*]}. Is there a network? The lines above say what apt-get met."
