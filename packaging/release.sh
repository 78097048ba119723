#!/bin/sh
# Makes what is handed out, the same bytes of the same commit: for each architecture a static binary,
# a package for Debian, one for Fedora and its kin, an image for containers, and what the binary is made
# of; and the hashes of all. Takes a Debian with apt, and root or sudo for packages that are missing.
#
# packaging/release.sh [x86_64|aarch64]...     by `cargo xtask release`; both where none is named
set -eu
umask 022
cd "$(dirname "$0")/.."
. ./bootstrap.sh

for word in "$@"; do
    case $word in
    x86_64 | aarch64) ;;
    *)
        say "usage: cargo xtask release [x86_64|aarch64]..."
        exit 2
        ;;
    esac
done

# shellcheck disable=SC2046
set_up dpkg-deb=dpkg rpmbuild=rpm python3=python3 $(venv) git=git gzip=gzip
command -v rustup >/dev/null || die "this takes rustup, for Rust's libraries of other targets"

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
# Times in packages are that of the commit.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
target=${CARGO_TARGET_DIR:-$PWD/target}
out=$target/handed-out
# Of a binary: one with symbols, which nobody asked for, is longer.
bytes_max=25000000
rm -rf "$out"
mkdir -p "$out"

# cargo-zigbuild compiles and links C with zig, which brings musl for every architecture.
wheels "$target/release-tools" cargo-zigbuild==0.24.1 ziglang==0.17.1

# packed FOLDER FILE: the same archive of the same files.
packed() {
    tar --create --directory "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
        --numeric-owner --format=gnu --file "$2" .
}

sha256() { sha256sum "$1" | cut -d ' ' -f 1; }

# built ARCHITECTURE: sets $binary.
built() {
    triple=$1-unknown-linux-musl
    rustup target list --installed | grep -qx "$triple" || rustup target add "$triple"
    say "building for $triple"
    # No path of this machine is in it.
    RUSTFLAGS="--remap-path-prefix=$PWD=fullpipe --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo" \
        cargo zigbuild --locked --profile dist --package fullpipe --target "$triple" \
        --target-dir "$target" --config 'profile.dist.debug=false'
    binary=$target/$triple/stripped/fullpipe
    mkdir -p "${binary%/*}"
    stripped "$target/$triple/dist/fullpipe" "$binary"
    [ "$(wc -c <"$binary")" -le $bytes_max ] || die "$binary is longer than $bytes_max bytes"
}

# stripped FROM TO: without the symbols that the profile keeps for profilers; by the tool of the Rust that
# compiled it, for any architecture.
stripped() {
    rust=$(rustc --print sysroot)
    LD_LIBRARY_PATH=$rust/lib "$rust/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-objcopy" \
        --strip-all "$1" "$2"
}

# runs ARCHITECTURE: whether its binary runs here; sets $emulator to what it takes, or to nothing.
runs() {
    emulator=
    [ "$1" = "$host" ] ||
        emulator=$(command -v "qemu-$1-static" || command -v "qemu-$1")
}

# runnable ARCHITECTURE: tries its binary where it runs here; sets $native to one that does, of any
# architecture.
runnable() {
    if runs "$1"; then
        say "trying the binary for $1${emulator:+ by ${emulator##*/}}"
        native=$binary
        packaging/try-binary.sh "$version" ${emulator:+"$emulator"} "$binary"
    else
        say "the binary for $1 was built and not run: that takes qemu-$1-static (Debian: qemu-user-static)"
        built "$host"
        native=$binary
        built "$1"
    fi
}

# native WORD...
native() { ${emulator:+"$emulator"} "$native" "$@"; }

# listed ARCHITECTURE: what the binary is made of; beside the crates the C library, which zig brings, and
# Rust's own.
listed() {
    musl=$(sed -n 's/^#define VERSION "\(.*\)"/\1/p' \
        "$target"/release-tools/lib/python3*/site-packages/ziglang/lib/libc/musl/src/internal/version.h)
    rust=$(rustc --version | cut -d ' ' -f 2)
    cargo xtask sbom "$1-unknown-linux-musl" "musl v$musl|MIT" "rust-std v$rust|MIT OR Apache-2.0" \
        >"$out/fullpipe-$version-$1-linux.cdx.json"
}

# staged FOLDER: the files of a package where they will be.
staged() {
    install -D -m 755 "$binary" "$1/usr/bin/fullpipe"
    native man "$1/usr/share/man/man1"
    gzip -9n "$1"/usr/share/man/man1/*
    mkdir -p "$1/usr/share/bash-completion/completions" "$1/usr/share/zsh/site-functions" \
        "$1/usr/share/fish/vendor_completions.d"
    native completions bash >"$1/usr/share/bash-completion/completions/fullpipe"
    native completions zsh >"$1/usr/share/zsh/site-functions/_fullpipe"
    native completions fish >"$1/usr/share/fish/vendor_completions.d/fullpipe.fish"
    install -D -m 644 packaging/fullpipe.service "$1/usr/lib/systemd/system/fullpipe.service"
    install -D -m 644 packaging/fullpipe.sysusers "$1/usr/lib/sysusers.d/fullpipe.conf"
    install -D -m 644 packaging/fullpipe.default "$1/etc/default/fullpipe"
    mkdir -p "$1/usr/share/doc/fullpipe"
    cp -R examples README.md CHANGELOG.md "$1/usr/share/doc/fullpipe/"
    install -m 644 LICENSE "$1/usr/share/doc/fullpipe/copyright"
}

# deb STAGE
deb() {
    rm -rf "$target/deb"
    cp -R "$1" "$target/deb"
    mkdir "$target/deb/DEBIAN"
    cat >"$target/deb/DEBIAN/control" <<CONTROL
Package: fullpipe
Version: $version
Architecture: $arch
Maintainer: The fullpipe authors <fullpipe@localhost>
Installed-Size: $(du -ks "$1" | cut -f 1)
Recommends: iproute2
Section: net
Priority: optional
Description: tells whether a network path carries what was sold
 An instrument for network engineers: TCP throughput by RFC 6349, bursts and
 policers, RFC 2544, services in the style of ITU-T Y.1564, RFC 7640, traffic
 and millions of connections, with a built-in emulated network to check every
 claim against.
CONTROL
    echo /etc/default/fullpipe >"$target/deb/DEBIAN/conffiles"
    cp packaging/postinst packaging/prerm packaging/postrm "$target/deb/DEBIAN/"
    chmod 755 "$target/deb/DEBIAN/postinst" "$target/deb/DEBIAN/prerm" "$target/deb/DEBIAN/postrm"
    dpkg-deb --root-owner-group -Zxz --build "$target/deb" "$out/fullpipe_${version}_$arch.deb" >/dev/null
    rm -rf "$target/deb"
}

# rpm ARCHITECTURE STAGE
rpm() {
    rpmbuild -bb --quiet --target "$1-linux" \
        --define "_topdir $target/rpm" --define "_rpmdir $out" --define "stage $2" \
        --define "version_of_it $version" --define '_build_id_links none' \
        --define '_buildhost localhost' --define 'use_source_date_epoch_as_buildtime 1' \
        --define 'clamp_mtime_to_source_date_epoch 1' --define '_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' \
        packaging/fullpipe.spec
    rm -rf "$target/rpm"
}

# image ARCHITECTURE: an OCI image of one layer, which podman, docker and skopeo load.
image() {
    rm -rf "$target/image"
    mkdir -p "$target/image/layer" "$target/image/oci/blobs/sha256"
    install -m 755 "$binary" "$target/image/layer/fullpipe"
    packed "$target/image/layer" "$target/image/layer.tar"
    diff_id=$(sha256 "$target/image/layer.tar")
    gzip -9n "$target/image/layer.tar"
    created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
    printf '{"created":"%s","architecture":"%s","os":"linux","config":{"User":"65534:65534","Entrypoint":["/fullpipe"],"Cmd":["--help"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"history":[{"created":"%s"}]}' \
        "$created" "$arch" "$diff_id" "$created" >"$target/image/config"
    layer=$(blob "$target/image/layer.tar.gz")
    config=$(blob "$target/image/config")
    printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json",%s},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip",%s}]}' \
        "$config" "$layer" >"$target/image/manifest"
    manifest=$(blob "$target/image/manifest")
    printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json",%s,"platform":{"architecture":"%s","os":"linux"},"annotations":{"org.opencontainers.image.ref.name":"fullpipe:%s"}}]}' \
        "$manifest" "$arch" "$version" >"$target/image/oci/index.json"
    printf '{"imageLayoutVersion":"1.0.0"}' >"$target/image/oci/oci-layout"
    packed "$target/image/oci" "$out/fullpipe-$version-$1.oci.tar"
    rm -rf "$target/image"
}

# blob FILE: puts it among the blobs of the image, and prints its digest and size.
blob() {
    digest=$(sha256 "$1")
    size=$(wc -c <"$1")
    cp "$1" "$target/image/oci/blobs/sha256/$digest"
    printf '"digest":"sha256:%s","size":%s' "$digest" "$size"
}

[ $# -gt 0 ] || set -- x86_64 aarch64
host=$(uname -m)
for architecture in "$@"; do
    # As Debian and containers call it.
    case $architecture in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; esac
    built "$architecture"
    runnable "$architecture"
    listed "$architecture"
    stage=$target/stage
    rm -rf "$stage"
    staged "$stage"
    find "$stage" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    folder=fullpipe-$version-$architecture-linux
    mkdir -p "$target/tar/$folder"
    cp "$binary" LICENSE README.md "$target/tar/$folder/"
    packed "$target/tar" "$target/tar.tar"
    gzip -9n <"$target/tar.tar" >"$out/$folder.tar.gz"
    rm -rf "$target/tar" "$target/tar.tar"
    deb "$stage"
    rpm "$architecture" "$stage"
    image "$architecture"
    rm -rf "$stage"
done
(cd "$out" && sha256sum -- * >SHA256SUMS)
say "made in $out:"
ls -l "$out"
