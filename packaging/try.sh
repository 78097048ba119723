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
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends systemd systemd-sysv dbus man-db "$package"
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
packaging/with-systemd.sh sh -eu -c '
    systemctl restart fullpipe
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        far=$(journalctl -u fullpipe -o cat | grep "^fp://" | tail -n 1)
        [ -z "$far" ] || break
        sleep 0.5
    done
    systemctl is-active fullpipe
    runuser -u tester -- env HOME=/home/tester fullpipe flow "$far" -u -b 1M -t 2 --quiet
    [ "$(stat -c %a /var/lib/fullpipe/key)" = 600 ]
    echo FULLPIPE_SERVE=--no-such-option >>/etc/default/fullpipe
    systemctl restart fullpipe || :
    sleep 1
    [ "$(systemctl show fullpipe -p ExecMainStatus -p NRestarts | sort | tr "\n" " ")" = "ExecMainStatus=2 NRestarts=0 " ]
' || die "the service does not do what it should"

say "removed without a trace"
DEBIAN_FRONTEND=noninteractive apt-get purge -y -q fullpipe
for left in /usr/bin/fullpipe /etc/default/fullpipe /var/lib/fullpipe /usr/share/doc/fullpipe; do
    [ ! -e "$left" ] || die "$left is left behind"
done
say "the package does what it should"
