//! The page is compiled in: another page, another binary.

fn main() {
    println!("cargo::rerun-if-changed=../../web/dist");
}
