//! Variables of a plan: names for values, which may stand in each other but not in a circle.

use std::collections::BTreeMap;

use serde_saphyr::Spanned;

use crate::yaml::{Keys, Node, Problem, Text, at, nearest};

const MOST_VARIABLES: usize = 256;
/// What a value may grow to when the variables in it are followed.
const MOST_CHARACTERS: usize = 4096;

/// Names with their values, in which no name stands any more.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Of the keys of a file; `set` overrules them.
    pub(super) fn of(
        keys: Option<&Spanned<Node>>,
        set: &[(String, String)],
    ) -> Result<Self, Problem> {
        let Some(keys) = keys else { return Self::default().overruled(set, None) };
        let Node::Keys(written) = &keys.value else {
            let sentence = "variables are names with values, such as cir: 40M";
            return Err(Problem::with(keys, sentence));
        };
        if written.pairs().len() > MOST_VARIABLES {
            let sentence = format!("at most {MOST_VARIABLES} variables are allowed");
            return Err(Problem::with(keys, sentence));
        }
        let mut values = BTreeMap::new();
        for (name, value) in written.pairs() {
            expect_name(name)?;
            values.insert(name.value.as_str(), single(value)?);
        }
        let mut known = Self::default().overruled(set, Some(&values))?;
        for name in values.keys() {
            known.follow(name, &values, &mut Vec::new())?;
        }
        Ok(known)
    }

    fn overruled(
        mut self,
        set: &[(String, String)],
        written: Option<&BTreeMap<&str, Text>>,
    ) -> Result<Self, Problem> {
        for (name, value) in set {
            if !written.is_some_and(|written| written.contains_key(name.as_str())) {
                let sentence = format!("--set {name}={value}: the plan has no variable `{name}`");
                return Err(Problem::in_general(sentence));
            }
            self.0.insert(name.clone(), value.clone());
        }
        Ok(self)
    }

    /// These and `others`, which no test has yet.
    pub(super) fn and(&self, others: &[(Text, String)]) -> Result<Self, Problem> {
        let mut both = self.clone();
        for (name, value) in others {
            if both.0.insert(name.value.clone(), value.clone()).is_some() {
                let sentence = format!("`{}` is a variable of the plan already", name.value);
                return Err(Problem::with(name, sentence));
            }
        }
        Ok(both)
    }

    /// Works out the value of `name`; `path` are the names on the way to it.
    fn follow<'a>(
        &mut self,
        name: &'a str,
        values: &'a BTreeMap<&str, Text>,
        path: &mut Vec<&'a str>,
    ) -> Result<(), Problem> {
        if self.0.contains_key(name) {
            return Ok(());
        }
        let Some(text) = values.get(name) else { return Ok(()) };
        path.push(name);
        for part in parts(text)? {
            let Part::Name(part) = part else { continue };
            if path.contains(&part) {
                let circle = path.iter().map(|name| format!("${name} → ")).collect::<String>();
                let sentence = format!("this variable stands in itself: {circle}${part}");
                return Err(Problem::with(text, sentence));
            }
            if let Some((known, _)) = values.get_key_value(part) {
                self.follow(known, values, path)?;
            }
        }
        path.pop();
        let value = self.fill(text)?.value;
        self.0.insert(name.to_owned(), value);
        Ok(())
    }

    /// The text with values for names.
    pub(super) fn fill(&self, text: &Text) -> Result<Text, Problem> {
        let mut filled = String::new();
        for part in parts(text)? {
            filled += match part {
                Part::Text(text) => text,
                Part::Name(name) => {
                    self.0.get(name).ok_or_else(|| Problem::with(text, self.unknown(name)))?
                }
            };
            if filled.len() > MOST_CHARACTERS {
                let sentence = format!("with its variables this has over {MOST_CHARACTERS} bytes");
                return Err(Problem::with(text, sentence));
            }
        }
        Ok(at(text, filled))
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let suggestion = match nearest(name, &names) {
            Some(nearest) => format!("did you mean `{nearest}`? "),
            None => String::new(),
        };
        let known = if names.is_empty() { String::from("none") } else { names.join(", ") };
        format!("unknown variable `{name}`: {suggestion}there are {known}; `$$` is the sign itself")
    }

    /// Everything at and below `node` with values for names; keys stay as they are.
    pub(super) fn fill_all(&self, node: &Spanned<Node>) -> Result<Spanned<Node>, Problem> {
        let filled = match &node.value {
            Node::Nothing => Node::Nothing,
            Node::Value(text) => Node::Value(self.fill(&at(node, text.clone()))?.value),
            Node::List(elements) => Node::List(
                elements.iter().map(|each| self.fill_all(each)).collect::<Result<_, _>>()?,
            ),
            Node::Keys(keys) => Node::Keys(self.fill_keys(keys)?),
        };
        Ok(at(node, filled))
    }

    pub(super) fn fill_keys(&self, keys: &Keys) -> Result<Keys, Problem> {
        let filled = keys.pairs().iter().map(|(key, node)| Ok((key.clone(), self.fill_all(node)?)));
        filled.collect::<Result<_, _>>().map(Keys::new)
    }
}

/// Whether the variable `name` stands at or below one of these values.
pub(super) fn is_used(name: &str, keys: &Keys) -> bool {
    keys.pairs().iter().any(|(_, node)| is_in(name, node))
}

fn is_in(name: &str, node: &Spanned<Node>) -> bool {
    match &node.value {
        Node::Nothing => false,
        Node::Value(text) => {
            let parts =
                parts(&at(node, text.clone())).map(|parts| parts.contains(&Part::Name(name)));
            parts.unwrap_or(false)
        }
        Node::List(elements) => elements.iter().any(|each| is_in(name, each)),
        Node::Keys(keys) => is_used(name, keys),
    }
}

/// The value of a variable.
pub(super) fn single(node: &Spanned<Node>) -> Result<Text, Problem> {
    match &node.value {
        Node::Value(text) => Ok(at(node, text.clone())),
        other => Err(Problem::with(node, format!("expected a single value here, not {other}"))),
    }
}

pub(super) fn expect_name(name: &Text) -> Result<(), Problem> {
    let mut characters = name.value.chars();
    let first = characters.next().is_some_and(|c| c.is_ascii_alphabetic());
    if first && name.value.len() <= 64 && characters.all(is_of_a_name) {
        return Ok(());
    }
    let sentence = "a variable's name begins with a letter and has letters, digits and `_`";
    Err(Problem::with(name, format!("`{}`: {sentence}", name.value)))
}

const fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// `$name`, `${name}` and what stands between them; `$$` is a `$`.
fn parts(text: &Text) -> Result<Vec<Part<'_>>, Problem> {
    let mut parts = Vec::new();
    let mut rest = text.value.as_str();
    while let Some((before, after)) = rest.split_once('$') {
        parts.push(Part::Text(before));
        if let Some(after) = after.strip_prefix('$') {
            parts.push(Part::Text("$"));
            rest = after;
            continue;
        }
        let (name, after) = match after.strip_prefix('{') {
            Some(inside) => inside.split_once('}').unwrap_or(("", after)),
            None => after.split_at(after.find(|c| !is_of_a_name(c)).unwrap_or(after.len())),
        };
        if name.is_empty() {
            let sentence = "a `$` begins the name of a variable, as in $cir or ${cir}; `$$` is the \
                            sign itself";
            return Err(Problem::with(text, format!("`{}`: {sentence}", text.value)));
        }
        parts.push(Part::Name(name));
        rest = after;
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}
