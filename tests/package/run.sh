#!/usr/bin/env bash
# run.sh SOURCE_FOLDER BUILD_FOLDER, in an empty folder: makes the Debian package of the built tree, unpacks it under a
# root of its own, and uses the unpacked files.
set -euo pipefail

source_folder=${1:?source folder}
build_folder=${2:?build folder}
fail() { echo "$*" >&2; exit 1; }

# A folder outside the tree, so that a package made by hand stays as it is.
cpack --config "$build_folder/CPackConfig.cmake" -G DEB -B "$PWD/out" > cpack.log 2>&1 || { cat cpack.log; exit 1; }
package=$(ls "$PWD"/out/hapax_*.deb)
[[ $package =~ /hapax_[0-9.]+_$(dpkg --print-architecture)\.deb$ ]] || fail "the package has an odd name: $package"

depends=$(dpkg-deb -f "$package" Depends)
for library in libc6 libpq5 libsqlite3-0 libssl3 libstdc++6 libboost-context1.81.0 tzdata; do
  [[ $depends == *$library* ]] || fail "Depends lacks $library: $depends"
done

# The package's scripts would change the machine; this test needs only the files.
mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates root/var/lib/dpkg/triggers
touch root/var/lib/dpkg/status
dpkg --root="$PWD/root" --force-depends --force-script-chrootless --force-not-root --unpack "$package" > dpkg.log 2>&1 ||
  { cat dpkg.log; exit 1; }
for file in usr/bin/hapax lib/systemd/system/hapax.service lib/systemd/system/hapax-work@.service \
  usr/share/man/man1/hapax.1.gz usr/share/bash-completion/completions/hapax usr/share/zsh/vendor-completions/_hapax \
  usr/share/doc/hapax/copyright usr/share/doc/hapax/examples/prometheus/alerts.yml \
  usr/share/doc/hapax/examples/grafana/hapax.json; do
  [[ -s root/$file ]] || fail "the package lacks $file"
done
# A configuration file: dpkg puts it in place when it configures the package; unpacked it has another suffix.
configuration=$(ls root/etc/hapax/hapax.toml*)
dpkg-deb --ctrl-tarfile "$package" | tar -xO ./conffiles | grep -qx /etc/hapax/hapax.toml || fail "hapax.toml is no conffile"
for script in postinst prerm postrm; do
  dpkg-deb --ctrl-tarfile "$package" | tar -xO "./$script" | sh -n || fail "$script is not a shell script"
done

hapax=$PWD/root/usr/bin/hapax
"$hapax" version
"$hapax" enqueue greet --input '{"name":"Ada"}' --store "sqlite:$PWD/test.db" --json > /dev/null
answer=$("$hapax" work --exec cat --until-empty --store "sqlite:$PWD/test.db" --json)
[[ $answer == *'"completed":1,'* ]] || fail "the packaged program does not work: $answer"
"$hapax" config check "$configuration" > check.log 2>&1 || { cat check.log; fail "the default configuration is refused"; }
[[ $(man -l --no-hyphenation "root/usr/share/man/man1/hapax.1.gz" 2> /dev/null) == *"EXIT STATUS"* ]] || fail "man cannot show hapax.1"

# systemd reads the units; their path to the program is replaced by the unpacked one.
mkdir units
for unit in hapax.service hapax-work@.service; do
  sed "s:/usr/bin/hapax:$hapax:" "root/lib/systemd/system/$unit" > "units/$unit"
done
findings=$(systemd-analyze verify --man=no --recursive-errors=no units/hapax.service units/hapax-work@.service 2>&1) ||
  { echo "$findings"; fail "systemd refuses a unit"; }
[[ -z $findings ]] || fail "systemd finds: $findings"
exposure=$(systemd-analyze security --offline=true --threshold=20 units/hapax.service 2>&1) ||
  { echo "$exposure"; fail "the server's unit is exposed more than it was"; }
echo "the package is good: $(basename "$package")"
