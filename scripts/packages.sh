# shellcheck shell=bash disable=SC2034
# Sourced by ./dev: the Debian packages that each kind of work needs; installs the missing ones.

build_packages=(g++ cmake ninja-build ccache pkg-config libpq-dev libsqlite3-dev nlohmann-json3-dev libssl-dev
  libcli11-dev libhiredis-dev libboost1.81-dev libboost-context1.81-dev libtomlplusplus-dev libabsl-dev tzdata
  python3 python3-yaml)
test_packages=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev postgresql-15 pgbouncer redis-server clang-16
  python3-jsonschema curl jq openssl nginx-light nodejs sqlite3 dpkg-dev file zsh man-db systemd chromium
  prometheus)
# A Node.js that is not from Debian brings its own npm and does not work with another.
if ! command -v npm > /dev/null; then test_packages+=(npm); fi
# The dashboard is built with Node.js 18 or newer and npm.
web_packages=()
if ! command -v node > /dev/null; then web_packages+=(nodejs); fi
if ! command -v npm > /dev/null; then web_packages+=(npm); fi
package_packages=(dpkg-dev file gzip)
check_packages=(clang-format clang-tidy-16)
fuzz_packages=(clang-16 libclang-rt-16-dev)

as_root() {
  if [[ $EUID -eq 0 ]]; then "$@"; else sudo "$@"; fi
}

# Debian's server packages start a service on the standard port when they are installed. The tests start their own
# servers, so during the installation no cluster is made and nothing is started; an existing PostgreSQL installation
# stays as it is.
without_services() {
  local policy=/usr/sbin/policy-rc.d config=/etc/postgresql-common/createcluster.conf made_policy=no status=0
  if [[ ! -e $policy ]]; then
    made_policy=yes
    trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" > /dev/null
    as_root chmod +x "$policy"
  fi
  if ! ls /usr/lib/postgresql/*/bin/postgres > /dev/null 2>&1 && [[ ! -e $config ]]; then
    as_root mkdir -p "${config%/*}"
    echo 'create_main_cluster = false' | as_root tee "$config" > /dev/null
  fi
  "$@" || status=$?
  if [[ $made_policy == yes ]]; then as_root rm -f "$policy"; trap - EXIT; fi
  return "$status"
}

# need_packages NAME...: installs missing packages and says so; silent and quick if none is missing.
need_packages() {
  local missing=() package
  if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
    die "this needs the Debian packages: $*. This machine has no apt-get; install their equivalents and run cmake and ctest yourself (CONTRIBUTING.md)"
  fi
  for package in "$@"; do
    if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null) != installed ]]; then missing+=("$package"); fi
  done
  if [[ ${#missing[@]} -eq 0 ]]; then return; fi
  if [[ $EUID -ne 0 ]] && ! command -v sudo > /dev/null; then
    die "missing Debian packages: ${missing[*]}. Install them as root, or install sudo"
  fi
  say "installing ${missing[*]}"
  as_root apt-get update -q
  without_services as_root env DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends \
    -o Dpkg::Options::=--force-confold "${missing[@]}" ||
    die "apt-get could not install: ${missing[*]}"
}
