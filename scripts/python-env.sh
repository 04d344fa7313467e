#!/usr/bin/env bash
# Makes the private Python environment with the official clients that the tests of the scripted
# server run, in the cache folder. Found again on the next run, unless the pinned versions changed.
set -euo pipefail

fail() {
    echo "colloquy: $*" >&2
    exit 1
}

requirements=$(cd "$(dirname "$0")/.." && pwd)/crates/colloquy-testkit/tests/clients/requirements.txt
cache=${COLLOQUY_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:?no home folder is known; name a cache folder in COLLOQUY_CACHE_DIR}/.cache}/colloquy}
environment=$cache/python-clients
# Written last, so that an environment that was cut off half-way is made anew.
stamp=$environment/requirements.txt

if cmp -s "$requirements" "$stamp" && "$environment/bin/python" -c "" 2>/dev/null; then
    exit 0
fi

python3 -m pip --version >/dev/null 2>&1 || fail "pip is missing. Run scripts/needs.sh, which installs it, and this again."
echo "colloquy: installing the official Python clients into $environment" >&2
rm -rf "$environment"
# Without a pip of its own, which Debian has in a package apart: the one that is here installs.
python3 -m venv --without-pip "$environment" || fail "the environment could not be made; the lines above say why."
python3 -m pip --python "$environment/bin/python" --disable-pip-version-check --quiet \
    install --requirement "$requirements" ||
    fail "the clients could not be installed. Is there a network? The lines above say what pip met."
cp "$requirements" "$stamp"
