//! Words of the other end, which may be anything, made fit for a terminal and a line of a log.

use fp_model::HostFacts;
use serde::{Deserialize as _, Deserializer};

/// No line is broken by it and no terminal obeys it.
pub(crate) fn readable(text: &str) -> String {
    const CHARACTERS_MAX: usize = 400;
    text.chars().filter(|character| !is_order(*character)).take(CHARACTERS_MAX).collect()
}

/// A control character, or one that turns the direction of the text around it.
fn is_order(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// For fields of messages that are told to the user.
pub(crate) fn words<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|text| readable(&text))
}

pub(crate) fn facts<'de, D: Deserializer<'de>>(from: D) -> Result<HostFacts, D::Error> {
    HostFacts::deserialize(from).map(|facts| HostFacts {
        name: readable(&facts.name),
        kernel: readable(&facts.kernel),
        processors: facts.processors,
        version: readable(&facts.version),
        clock_source: readable(&facts.clock_source),
        congestion_control: readable(&facts.congestion_control),
    })
}
