# Sourced by demo and check in the repository's root: finds or installs what they need, and
# says what before doing it. Plain sh; installs by apt as root or by sudo.

say() { printf '\n==> %s\n' "$*"; }

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 3
}

# Set-up shared by both scripts. Arguments: further programs needed, as PROGRAM=PACKAGE.
# Afterwards `cargo` and `rustc` are new enough and first on the PATH.
set_up() {
    # On Debian the PATH of an ordinary user lacks the folders where `ip` and others may be.
    PATH=${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin
    minor=$(sed -n 's/^rust-version = "1\.\([0-9]*\).*/\1/p' Cargo.toml)
    packages=$(missing_packages "$@")
    find_cargo || rustup_cargo || true
    if [ -n "$packages" ] || [ -z "$cargo" ]; then
        install_packages
    fi
    [ -n "$cargo" ] || die "no Rust 1.$minor or newer found: install it from https://rustup.rs, then run this again"
    PATH=$(dirname "$cargo"):$PATH
    export PATH
    say "using $(cargo --version), $(rustc --version)"
}

missing_packages() {
    can_link || printf ' gcc libc6-dev'
    for pair in "$@"; do
        command -v "${pair%%=*}" >/dev/null 2>&1 || printf ' %s' "${pair#*=}"
    done
}

# Some crates build a little C, and Rust links through the C compiler.
can_link() {
    command -v cc >/dev/null 2>&1 &&
        printf '#include <stdio.h>\nint main(void) { return 0; }\n' |
        cc -x c -o /dev/null - >/dev/null 2>&1
}

# Sets $cargo to the first one that is new enough and has its rustc beside it, or to nothing.
find_cargo() {
    for cargo in "$(command -v cargo || true)" "${CARGO_HOME:-${HOME:-/root}/.cargo}/bin/cargo" \
        /usr/bin/cargo /usr/lib/rust-1.*/bin/cargo; do
        new_enough "$cargo" && new_enough "$(dirname "$cargo")/rustc" && return 0
    done
    cargo=
    return 1
}

new_enough() {
    [ -x "$1" ] || return 1
    found=$("$1" --version 2>/dev/null | sed -n 's/^[a-z]* 1\.\([0-9]*\)\..*/\1/p')
    [ -n "$found" ] && [ "$found" -ge "$minor" ]
}

# Where rustup is present, a newer toolchain beside the one in use, which stays the default.
rustup_cargo() {
    rustup=$(command -v rustup || true)
    [ -n "$rustup" ] || rustup=${CARGO_HOME:-${HOME:-/root}/.cargo}/bin/rustup
    [ -x "$rustup" ] || return 1
    say "rustup: installing the stable toolchain, as Rust 1.$minor is needed"
    "$rustup" toolchain install stable --profile minimal --component clippy,rustfmt \
        --no-self-update || return 1
    cargo=$("$rustup" which --toolchain stable cargo)
    new_enough "$cargo" || cargo=
}

# Installs $packages, and a Rust where none was found.
install_packages() {
    wanted=$packages
    [ -n "$cargo" ] || wanted="$wanted, Rust 1.$minor or newer"
    command -v apt-get >/dev/null 2>&1 ||
        die "missing (by the names of Debian's packages):$wanted: install them, then run this again"
    say "updating the list of packages: apt-get update"
    as_root apt-get update -q
    rustup_too=
    if [ -z "$cargo" ]; then
        rust=$(rust_package)
        [ "$rust" != rustup ] || rustup_too=yes
        packages="$packages ca-certificates $rust"
    fi
    say "installing:$packages"
    # The names are a list: one word each.
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends $packages
    [ -n "$cargo" ] || find_cargo || { [ -n "$rustup_too" ] && rustup_cargo; } || true
}

# The package with a cargo new enough: Debian 12 and 13 carry one for building browsers, Ubuntu one
# for each version.
rust_package() {
    versioned=$(apt-cache pkgnames cargo-1. | grep '^cargo-1\.[0-9]*$' | sort -rV)
    for package in cargo-web cargo $versioned; do
        offered=$(apt-cache show --no-all-versions "$package" 2>/dev/null |
            sed -n 's/^Version: 1\.\([0-9]*\)\..*/\1/p' | head -n 1)
        if [ -n "$offered" ] && [ "$offered" -ge "$minor" ]; then
            echo "$package"
            return
        fi
    done
    echo rustup
}

# Programs that come as wheels: installs PACKAGE==VERSION... into FOLDER unless they are there, and puts
# them first on the PATH.
wheels() {
    folder=$1
    shift
    if [ "$(cat "$folder/installed" 2>/dev/null)" != "$*" ]; then
        say "installing into $folder: $*"
        python3 -m venv --clear "$folder"
        "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
        echo "$*" >"$folder/installed"
    fi
    PATH=$folder/bin:$PATH
    export PATH
}

# As a pair for `set_up`, where Python cannot make the environment that wheels go to.
venv() { python3 -c 'import ensurepip' 2>/dev/null || echo no-venv=python3-venv; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        die "this needs root, and there is no sudo here: as root run \`$*\`, then this again"
    fi
}
