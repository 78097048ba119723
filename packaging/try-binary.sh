#!/bin/sh
# Uses a binary as it is handed out: arithmetic, a simulation, and a flow between two ends on this
# machine. By `cargo xtask release`, for another architecture under qemu's user mode.
#
# packaging/try-binary.sh VERSION COMMAND...      COMMAND: the binary, with what runs it before it
set -eu
version=$1
shift
die() {
    printf 'try-binary.sh: %s\n' "$*" >&2
    exit 1
}
scratch=$(mktemp -d)
server=
cleaned() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || :
    rm -rf "$scratch"
}
trap cleaned EXIT
trap 'exit 1' INT TERM
HOME=$scratch
export HOME

said=$("$@" --version) || die "--version fails"
[ "$said" = "fullpipe $version" ] || die "--version says '$said', not 'fullpipe $version'"

said=$("$@" calc bdp --rate 100M --rtt 10ms) || die "calc fails"
case $said in *125,000*) ;; *) die "calc says of 100 Mbit/s over 10 ms: $said" ;; esac

said=$("$@" sim metro-40m-cbs64k burst --discover --direction download --quiet --no-save) ||
    die "the simulation fails: $said"
case $said in *'policer of 40.0'*) ;; *) die "the simulation does not find the policer: $said" ;; esac

: >"$scratch/far"
"$@" serve --listen 127.0.0.1:0 >"$scratch/far" 2>&1 &
server=$!
tries=0
until grep -q '^fp://' "$scratch/far"; do
    kill -0 "$server" 2>/dev/null || die "the far end ends: $(cat "$scratch/far")"
    [ $((tries += 1)) -le 100 ] || die "the far end prints no pairing string: $(cat "$scratch/far")"
    sleep 0.2
done
far=$(grep '^fp://' "$scratch/far")
status=0
"$@" flow "$far" -u -b 1M -t 2 --no-save >"$scratch/near" 2>&1 || status=$?
kill -0 "$server" 2>/dev/null || die "the far end ends with the flow: $(cat "$scratch/far")"
fine="version, calc, a simulation and the session of two ends: as they should be"
case $status in
0) echo "$fine, and so is a flow" ;;
# A busy processor may keep no times: the program says so, which is right.
4) echo "$fine; a flow: not valid here, by its own account" ;;
*)
    # qemu's user mode has no SO_TIMESTAMPNS, and no more than four bytes of TCP_INFO: neither UDP nor
    # TCP can be measured there. The program has to refuse in a sentence.
    if [ $# -gt 1 ] && [ "$status" -eq 3 ] && grep -q 'session begins' "$scratch/far" &&
        grep -q 'set up a UDP socket: Protocol not available' "$scratch/near"; then
        echo "$fine; not tried: a flow, as ${1##*/} gives no arrival times (SO_TIMESTAMPNS)"
    else
        die "the flow ended with $status: $(cat "$scratch/near" "$scratch/far")"
    fi
    ;;
esac
