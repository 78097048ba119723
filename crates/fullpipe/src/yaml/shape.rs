//! The shapes that values of a file may have, each with the place where it stands.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// A value as written: a quantity, a number or a word.
pub(crate) type Text = Spanned<String>;

/// The single value that matters most, or all of them by their keys.
#[derive(Debug)]
pub(crate) enum Short<T> {
    Value(String),
    Keys(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Short<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShortVisitor(PhantomData))
    }
}

struct ShortVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ShortVisitor<T> {
    type Value = Short<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a single value or keys with values")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Short::Value(text.to_owned()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Short::Value(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Short::Value(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Short::Value(number.to_string()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Short::Keys)
    }
}

/// A list, or the only element of one.
#[derive(Debug)]
pub(crate) enum OneOrMore<T> {
    One(T),
    More(Vec<Spanned<T>>),
}

impl<T> OneOrMore<T> {
    /// The elements, each where it stands.
    pub(crate) fn elements(here: &Spanned<Self>) -> Vec<Spanned<&T>> {
        let (referenced, defined) = (here.referenced, here.defined);
        match &here.value {
            Self::One(value) => vec![Spanned { value, referenced, defined }],
            Self::More(list) => list.iter().map(as_ref).collect(),
        }
    }
}

fn as_ref<T>(here: &Spanned<T>) -> Spanned<&T> {
    Spanned { value: &here.value, referenced: here.referenced, defined: here.defined }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMoreVisitor(PhantomData))
    }
}

struct OneOrMoreVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMoreVisitor<T> {
    type Value = OneOrMore<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or its only element")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(text.into_deserializer()).map(OneOrMore::One)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(OneOrMore::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMore::More)
    }
}
