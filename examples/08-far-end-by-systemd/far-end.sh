#!/bin/sh
# Makes this machine a far end that starts with it. As root, after `apt install ./fullpipe_*.deb`, which
# brings fullpipe.service, its user and its folder.
# by hand: it enables a service on this machine
set -eu

install -m 644 "$(dirname "$0")/fullpipe.default" /etc/default/fullpipe
systemctl enable fullpipe
systemctl restart fullpipe

# The pairing string. It stays the same over restarts: its key is in /var/lib/fullpipe/key.
until journalctl --unit fullpipe --output cat | grep '^fp://' | tail -n 1 | grep .; do
    systemctl is-active --quiet fullpipe || exit 1
    sleep 1
done
