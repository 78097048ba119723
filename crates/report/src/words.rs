//! How methods and verdicts are called, for who shows results: what documents name, and what people read.

use fp_method::methods::{METHODS, Method};
use fp_method::verdict::Status;
use serde::Serialize;

use crate::certificate::banner;
use crate::document::Banner;

#[derive(Clone, Debug, Serialize)]
pub struct Words {
    methods: [Title; METHODS.len()],
    verdicts: [Verdict; Status::ALL.len()],
}

#[derive(Clone, Debug, Serialize)]
struct Title {
    name: &'static str,
    title: &'static str,
}

#[derive(Clone, Debug, Serialize)]
struct Verdict {
    name: &'static str,
    #[serde(flatten)]
    shown: Banner,
}

/// Of this version.
pub fn words() -> Words {
    let title = |Method { name, title, .. }: &Method| Title { name, title };
    let verdict = |status: Status| Verdict { name: status.name(), shown: banner(status.name()) };
    Words { methods: METHODS.map(title), verdicts: Status::ALL.map(verdict) }
}
