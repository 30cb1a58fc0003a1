#!/usr/bin/env bash
# Installs the build into a temporary prefix and builds a project out of tree against it, with find_package and with pkg-config; the
# README's first program; and programs of MPI with the wrappers.
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
# A program of MPI, by the installed wrappers.
for wrapper in mpicc mpicc_abi mpicxx mpicxx_abi; do
    case $wrapper in mpicc*) source=$here/../mpi/life.c ;; *) source=$here/project/ranks.cpp ;; esac
    "$work/prefix/bin/$wrapper" ${CONSUMER_FLAGS:-} -c "$source" -o "$work/mpi.o"
    "$work/prefix/bin/$wrapper" ${CONSUMER_FLAGS:-} "$work/mpi.o" -o "$work/mpi"
    for launcher in "towline run" mpiexec mpirun; do
        # shellcheck disable=SC2086  # two words
        "$work/prefix/bin/"$launcher -n 2 "$work/mpi" ranks | sort >"$work/out"
        printf 'rank 0 of 2\nrank 1 of 2\n' | diff - "$work/out" || { echo "$wrapper, $launcher: its program prints something else"; exit 1; }
    done
done
"$work/prefix/bin/mpicc" -show | grep -q -- "-I$work/prefix/include .*-lmpi_abi" || { echo "mpicc -show does not say it"; exit 1; }
# shellcheck disable=SC2046
"$cxx" ${CONSUMER_FLAGS:-} "$here/project/ranks.cpp" $(pkg-config --cflags --libs towline-mpi) -o "$work/mpi"
"$work/prefix/bin/towline" run -n 1 "$work/mpi" | grep -qx 'rank 0 of 1'
# The installed examples, as a project of their own.
cmake -S "$work/prefix/share/doc/towline/examples" -B "$work/examples" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Debug \
    ${CONSUMER_FLAGS:+-DCMAKE_CXX_FLAGS="$CONSUMER_FLAGS" -DCMAKE_C_FLAGS="$CONSUMER_FLAGS"} >"$work/log" 2>&1 \
    && cmake --build "$work/examples" -j 2 >>"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
for example in 01_hello 02_arguments 03_rma_vector 04_remote_object 05_broadcast 06_team 07_mpi; do
    "$work/prefix/bin/towline" run -n 2 "$work/examples/bin/$example" >"$work/out" || { cat "$work/out"; echo "failed: $example"; exit 1; }
done
"$work/prefix/bin/towline" run -n 2 "$work/examples/bin/10_blast" "$work/prefix/share/doc/towline/examples/10_blast/sedov24.toml" \
    --output "$work/blast" >"$work/out" || { cat "$work/out"; echo "failed: the installed demo"; exit 1; }
# Where there is no /proc the installed tools find their libraries, also after a second installation, and where both were moved.
cmake --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
if [ -z "${CONSUMER_FLAGS:-}" ] && unshare -m true 2>/dev/null; then
    for tool in "towline run" mpiexec; do
        # shellcheck disable=SC2086  # two words
        unshare -m sh -c 'umount -l /proc && exec "$@"' sh "$work/prefix/bin/"$tool -n 2 echo alive >"$work/out" \
            && [ "$(grep -cx alive "$work/out")" = 2 ] \
            || { cat "$work/out"; echo "$tool does not run without /proc"; exit 1; }
    done
else
    echo "left out: the tools without /proc (no mount namespace of one's own can be made here, or a build with sanitizers)"
fi
mv "$work/prefix" "$work/moved"
"$work/moved/bin/towline" run -n 2 true && "$work/moved/bin/mpiexec" -n 2 true || { echo "moved tools do not run"; exit 1; }
mv "$work/moved" "$work/prefix"
# Pages and completion lie where man and bash look; a build with sanitizers has none.
[ -z "${CONSUMER_FLAGS:-}" ] || { echo "consumer: find_package, pkg-config, the wrappers and the examples all work"; exit; }
for page in towline towline-run towline-where towline-info towline-tune towline-layout mpiexec mpirun mpicc mpicxx; do
    [ -s "$work/prefix/share/man/man1/$page.1" ] || { echo "there is no page $page(1)"; exit 1; }
done
if command -v man >/dev/null; then
    MANPATH=$work/prefix/share/man MANPAGER=cat man towline-run >"$work/out" 2>&1 && grep -q -- '--keep-going' "$work/out" \
        || { cat "$work/out"; echo "man towline-run does not work"; exit 1; }
fi
for name in towline mpiexec mpirun; do
    bash -n "$work/prefix/share/bash-completion/completions/$name"
done
echo "consumer: find_package, pkg-config, the wrappers, the examples and the manual all work"
