#!/usr/bin/env bash
# Installs the build into a temporary prefix and builds a project out of tree against it, with find_package and with pkg-config; and the
# README's first program.
# usage: check.sh BUILD_DIR CXX
set -euo pipefail
build=$1 cxx=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
lib=$(dirname "$(find "$work/prefix" -name libtowline.so | head -1)")

expect() { # expect COMMAND...: runs as a job of two, with the installed launcher
    "$work/prefix/bin/towline" run -n 2 "$@" >"$work/out" || { cat "$work/out"; echo "failed: $*"; exit 1; }
    grep -qx 'consumer: 42 on 2 ranks' "$work/out" || { cat "$work/out"; echo "unexpected output: $*"; exit 1; }
}

cmake -S "$here/project" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$cxx" \
    ${CONSUMER_FLAGS:+-DCMAKE_CXX_FLAGS="$CONSUMER_FLAGS"} >"$work/log" 2>&1 \
    && cmake --build "$work/cmake" >>"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
expect "$work/cmake/consumer"

export PKG_CONFIG_PATH=$lib/pkgconfig
"$cxx" ${CONSUMER_FLAGS:-} "$here/project/consumer.cpp" $(pkg-config --cflags --libs towline) -o "$work/consumer"
expect "$work/consumer"
# The README's first program is true.
awk '/^```cpp$/ { code = 1; next } /^```$/ { if (code) exit } code' "$here/../../README.md" >"$work/first.cpp"
"$cxx" ${CONSUMER_FLAGS:-} "$work/first.cpp" $(pkg-config --cflags --libs towline) -o "$work/first"
"$work/prefix/bin/towline" run -n 2 "$work/first" | sort >"$work/out"
printf 'rank 0: 2\nrank 1: 2\n' | diff - "$work/out" || { echo "the README's program prints something else"; exit 1; }
echo "consumer: find_package and pkg-config both work"
