//! JUnit XML as a test server reads it.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// An element, and how deep it lies.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) depth: usize,
    attributes: BTreeMap<String, String>,
}

impl Element {
    pub(super) fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    pub(super) fn number(&self, name: &str) -> usize {
        self.attribute(name).parse().unwrap()
    }
}

/// Every element of a well-formed document, in its order.
pub(super) fn elements(xml: &str) -> Vec<Element> {
    let mut reader = Reader::from_str(xml);
    let (mut depth, mut found) = (0, Vec::new());
    loop {
        match reader.read_event().unwrap() {
            Event::Start(element) => {
                found.push(read(&element, depth));
                depth += 1;
            }
            Event::Empty(element) => found.push(read(&element, depth)),
            Event::End(_) => depth -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0, "{xml}");
    found
}

fn read(element: &BytesStart<'_>, depth: usize) -> Element {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let attributes = element.attributes().map(|attribute| {
        let attribute = attribute.unwrap();
        (text(attribute.key.as_ref()), attribute.unescape_value().unwrap().into_owned())
    });
    Element { name: text(element.name().as_ref()), depth, attributes: attributes.collect() }
}
