#!/bin/sh
# Run by root on a bare Debian: installs the package in handed-out/, uses it as its users will, and
# removes it again. By `cargo xtask bare 12 package`, after `cargo xtask release`.
set -eu
cd "$(dirname "$0")/.."
say() { printf '\n==> %s\n' "$*"; }
die() {
    printf 'try.sh: %s\n' "$*" >&2
    exit 1
}
as_user() { runuser -u tester -- env HOME=/home/tester sh -c "cd; $1"; }

package=$(echo "$PWD"/handed-out/fullpipe_*_"$(dpkg --print-architecture)".deb)
[ -f "$package" ] || die "$package is missing: cargo xtask release makes it"
say "apt-get install $package"
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends systemd man-db "$package"
useradd --create-home tester

say "a test across the built-in network, as an ordinary user"
status=0
as_user 'fullpipe test --lab metro-40m-cbs64k --quiet' || status=$?
[ "$status" -eq 1 ] || die "the test ended with $status, not with 1"
as_user 'fullpipe history' | grep -q metro-40m-cbs64k || die "the history does not have the test"

say "man pages and completions"
as_user 'MANWIDTH=80 man fullpipe-burst' | grep -q -e --discover || die "man fullpipe-burst fails"
as_user 'man fullpipe-serve' | grep -q 'EXIT STATUS' || die "man fullpipe-serve fails"
bash -n /usr/share/bash-completion/completions/fullpipe

say "the far end as the service runs it"
systemd-analyze verify fullpipe.service
getent passwd fullpipe >/dev/null || die "there is no user fullpipe"
words=$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/fullpipe.service)
# Without systemd as process 1, its folder and user are made by hand.
install -d -o fullpipe -m 700 /var/lib/fullpipe
# Named by the words of the service.
# shellcheck disable=SC2034
FULLPIPE_SERVE='--listen 127.0.0.1'
# The words of the service are a list.
# shellcheck disable=SC2046
runuser -u fullpipe -- $(eval "echo $words") >/tmp/far 2>&1 &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    grep -q '^fp://' /tmp/far && break
    sleep 0.5
done
far=$(grep '^fp://' /tmp/far) || die "the far end prints no pairing string: $(cat /tmp/far)"
as_user "fullpipe flow '$far' -u -b 1M -t 2 --quiet" || die "no flow to the far end"
kill "$server"
[ "$(stat -c %a /var/lib/fullpipe/key)" = 600 ] || die "others may read the key"

say "removed without a trace"
DEBIAN_FRONTEND=noninteractive apt-get purge -y -q fullpipe
for left in /usr/bin/fullpipe /etc/default/fullpipe /var/lib/fullpipe /usr/share/doc/fullpipe; do
    [ ! -e "$left" ] || die "$left is left behind"
done
say "the package does what it should"
