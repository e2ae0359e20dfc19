#!/usr/bin/env bash
# Installs what Divisi is built from and tested with. It is the one place that
# says which version comes from where: Debian packages from apt, everything
# else from pip, both as they are configured on this machine, into a prefix
# outside the clone.
#
#   setup.sh            install what is missing; quick when nothing is
#   setup.sh --prefix   print the prefix and stop
#   setup.sh --inputs   print the files that decide the prefix and stop
#
# DIVISI_PREFIX chooses another prefix. The default's name carries a hash of
# the inputs, so a changed pin is a new prefix and clones do not disturb each
# other. Nothing is ever asked.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
inputs=("$here/setup.sh" "$here/requirements.txt" "$here/sources.txt")
hash="$(cat "${inputs[@]}" | sha256sum | cut -c1-12)"
cache="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}"
prefix="${DIVISI_PREFIX:-$cache/divisi/deps-$hash}"

packages=(
  # the compiler's own
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  libprotobuf-dev protobuf-compiler zlib1g-dev libsimdjson-dev libdeflate-dev
  libsodium-dev
  # what connects processes; divisi runs without it, in one
  libopenmpi-dev openmpi-bin
  # the tools that build it
  g++ make cmake ninja-build ccache git lld-22 clang-22 clang-format-22
  libclang-rt-22-dev python3 python3-venv ca-certificates
  # its tests and benchmarks
  libgtest-dev libgmock-dev libbenchmark-dev
)

say() { echo "setup: $*"; }

# fail WHAT WHAT-TO-DO
fail() {
  echo "setup: error: $1" >&2
  echo "setup: $2" >&2
  exit 1
}

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    grep -qx "$package" <<<"$installed" || echo "$package"
  done
}

read_installed() {
  installed="$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' |
    sed -n 's/^installed //p')"
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -n "$@"
  else
    return 1
  fi
}

install_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    fail "this is not a Debian system" \
      "install the equivalents of: ${packages[*]}"
  read_installed
  local missing
  mapfile -t missing < <(missing_packages)
  if [ "${#missing[@]}" = 0 ]; then
    return
  fi
  say "installing with apt-get: ${missing[*]}"
  local by_hand="run 'apt-get install ${missing[*]}' as root, then this again"
  as_root true || fail "these packages need root, and sudo asks for a password" \
    "$by_hand"
  as_root apt-get -q update ||
    say "apt-get update failed; going on with the lists that are there"
  local package
  for package in "${missing[@]}"; do
    apt-cache show "$package" >/dev/null 2>&1 && continue
    fail "apt knows no package '$package'" \
      "LLVM 22 is in Debian 12's security suite (bookworm-security), or at \
apt.llvm.org as llvm-toolchain-bookworm-22: add one of these to apt's sources \
and run this again; any other package is in Debian 12 itself (bookworm, main)"
  done
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q install -y --no-install-recommends "${missing[@]}" ||
    fail "apt-get could not install: ${missing[*]}" \
      "$by_hand"
}

install_venv() {
  say "Python packages into $prefix/venv"
  # Debian's Python: another one first in PATH may lack what is pinned.
  /usr/bin/python3 -m venv --clear "$prefix/venv"
  "$prefix/venv/bin/pip" -q install --require-hashes --only-binary :all: \
    -r "$here/requirements.txt" ||
    fail "pip could not install cmake/requirements.txt" \
      "check that pip reaches its package index, then run this again"
}

download_sources() {
  say "sources and libraries that pip carries"
  # Without isolation pip asks the pinned build back end in the virtual
  # environment about the source archive, not whatever is newest; that back
  # end wants to see the CMake it would build with.
  SKBUILD_CMAKE_VERSION=">=3.25" "$prefix/venv/bin/pip" -q download --require-hashes --no-deps \
    --no-build-isolation --no-binary onnx -d "$work/downloads" \
    -r "$here/sources.txt" ||
    fail "pip could not download cmake/sources.txt" \
      "check that pip reaches its package index, then run this again"
}

install_onnx() {
  say "ONNX's C++ libraries (about two minutes)"
  mkdir "$work/onnx"
  tar xzf "$work"/downloads/onnx-*.tar.gz -C "$work/onnx" --strip-components=1
  # It asks for 3.26 and builds with Debian 12's 3.25.
  sed -i 's/^cmake_minimum_required(VERSION 3.26)/cmake_minimum_required(VERSION 3.25)/' \
    "$work/onnx/CMakeLists.txt"
  # Relative paths let ccache recognise the files in another work folder.
  export CCACHE_BASEDIR="$work" CCACHE_NOHASHDIR=1
  { cmake -G Ninja -S "$work/onnx" -B "$work/onnx-build" \
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
      -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
      -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_STANDARD=20 \
      -DONNX_USE_PROTOBUF_SHARED_LIBS=ON -DONNX_BUILD_PYTHON=OFF \
      -DONNX_ML=ON -DPython3_EXECUTABLE="$prefix/venv/bin/python" &&
    cmake --build "$work/onnx-build" &&
    cmake --install "$work/onnx-build"; } >"$prefix/onnx.log" 2>&1 ||
    fail "ONNX did not build" "its output is in $prefix/onnx.log"
}

install_onednn() {
  say "oneDNN"
  local wheel
  mkdir -p "$prefix/onednn"
  for wheel in "$work"/downloads/onednn_*.whl; do
    /usr/bin/python3 -m zipfile -e "$wheel" "$work/unpacked"
  done
  # A wheel holds the library three times, having no links.
  cp -r "$work"/unpacked/onednn_*.data/data/include "$prefix/onednn/"
  mkdir -p "$prefix/onednn/lib"
  cp "$work"/unpacked/onednn_*.data/data/lib/libdnnl.so.3 "$prefix/onednn/lib/"
}

# Its headers include each other from include/highs. The wheel's OpenBLAS stays
# behind: only the solver "hipo" would use it, through a libhighs_extras.so that
# is in no wheel.
install_highs() {
  say "HiGHS"
  /usr/bin/python3 -m zipfile -e "$work"/downloads/highsbox-*.whl \
    "$work/unpacked"
  local dist
  dist="$(echo "$work"/unpacked/highsbox-*.data/purelib/highsbox/highs_dist)"
  mkdir -p "$prefix/highs/include" "$prefix/highs/lib"
  cp -r "$dist"/include/highs/* "$dist/include/highs_export.h" \
    "$prefix/highs/include/"
  cp "$dist/lib/libhighs.so" "$prefix/highs/lib/"
}

# The wheel holds the library twice, having no links: one under the name by
# which programs ask for it.
install_z3() {
  say "Z3"
  /usr/bin/python3 -m zipfile -e "$work"/downloads/z3_solver-*.whl \
    "$work/unpacked"
  mkdir -p "$prefix/z3/lib"
  cp -r "$work/unpacked/z3/include" "$prefix/z3/"
  cp "$work"/unpacked/z3/lib/libz3.so.* "$prefix/z3/lib/"
}

case "${1:-}" in
  --prefix) echo "$prefix"; exit ;;
  --inputs) printf '%s\n' "${inputs[@]}"; exit ;;
  "") ;;
  *) fail "unknown argument '$1'" "it takes --prefix, --inputs, or nothing" ;;
esac

install_packages
mkdir -p "$prefix"
# Two clones may set up the same prefix at once: the second waits.
exec 9>"$prefix/lock"
flock 9
if [ "$(cat "$prefix/stamp" 2>/dev/null)" = "$hash" ]; then
  exit
fi
say "setting up $prefix"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
install_venv
download_sources
install_onednn
install_highs
install_z3
install_onnx
echo "$hash" >"$prefix/stamp"
for other in "$cache"/divisi/deps-*; do
  if [ -d "$other" ] && [ "$other" != "$prefix" ]; then
    say "$other is of another version of this script; delete it when no clone needs it"
  fi
done
say "done"
