#!/bin/sh
# Starts systemd as process 1 of a copy of this root's mounts, in namespaces of its own, runs COMMAND in
# them once the services are up, and ends them. As root; by packaging/try.sh.
#
# packaging/with-systemd.sh COMMAND...
set -eu
die() {
    printf 'with-systemd.sh: %s\n' "$*" >&2
    exit 1
}
scratch=$(mktemp -d)
boots=
ended() {
    # Waiting for its child, unshare heeds no other signal.
    [ -z "$boots" ] || kill -KILL "$boots" 2>/dev/null || :
    wait
    rm -rf "$scratch"
}
trap ended EXIT
trap 'exit 1' INT TERM

cat >"$scratch/boot" <<'BOOT'
set -eu
mount --bind / /mnt
cd /mnt
mkdir -p oldroot
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/tty c 5 0
mkdir dev/pts dev/shm dev/mqueue dev/hugepages
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /run/systemd/journal/dev-log dev/log
pivot_root . oldroot
cd /
umount -l /oldroot
rmdir /oldroot
# Nothing here is its hardware.
container=lxc
export container
exec /lib/systemd/systemd --log-target=null --show-status=no </dev/null
BOOT
unshare --mount --pid --fork --kill-child --cgroup --ipc --uts \
    sh "$scratch/boot" >"$scratch/log" 2>&1 &
boots=$!
inside=
for _ in $(seq 60); do
    [ -n "$inside" ] || inside=$(tr -d ' ' <"/proc/$boots/task/$boots/children" || :)
    up=$(nsenter -t "${inside:-1}" -m -p systemctl is-active multi-user.target 2>/dev/null || :)
    [ -n "$inside" ] && [ "$up" = active ] && break
    kill -0 "$boots" 2>/dev/null || die "systemd does not start: $(cat "$scratch/log")"
    sleep 0.5
done
[ "$up" = active ] || die "the services are not up in 30 s: $(cat "$scratch/log")"
nsenter -t "$inside" -m -p -C -i -u "$@"
