//! A part of a file whose keys are not known beforehand: values, lists and keys, each with its place.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use super::shape::Text;

/// Something that stands in a file.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// A key without a value.
    Nothing,
    Value(String),
    List(Vec<Spanned<Self>>),
    Keys(Keys),
}

/// Keys with their values, in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Keys(Vec<(Text, Spanned<Node>)>);

impl Keys {
    pub(crate) fn new(pairs: Vec<(Text, Spanned<Node>)>) -> Self {
        Self(pairs)
    }

    pub(crate) fn pairs(&self) -> &[(Text, Spanned<Node>)] {
        &self.0
    }

    /// Takes the value of this key out.
    pub(crate) fn take(&mut self, key: &str) -> Option<Spanned<Node>> {
        let place = self.0.iter().position(|(name, _)| name.value == key)?;
        Some(self.0.remove(place).1)
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, a list or keys with values")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Value(value.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Value(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Value(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Value(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Value(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            elements.push(element);
        }
        Ok(Node::List(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Node::Keys(Keys(pairs)))
    }
}

/// What stands at `place` in the words of a message.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::Value(_) => "a value",
            Self::List(_) => "a list",
            Self::Keys(_) => "keys with values",
        })
    }
}

/// `value` that stands in no file.
pub(crate) const fn nowhere<T>(value: T) -> Spanned<T> {
    Spanned { value, referenced: Location::UNKNOWN, defined: Location::UNKNOWN }
}

/// `value` at the place of something else.
pub(crate) fn at<T, U>(place: &Spanned<U>, value: T) -> Spanned<T> {
    let (referenced, defined): (Location, Location) = (place.referenced, place.defined);
    Spanned { value, referenced, defined }
}
