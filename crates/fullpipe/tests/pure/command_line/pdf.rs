//! Reads the words of a PDF as a reader does: by the tables in it that say which letter a number is.

use std::collections::BTreeMap;

use miniz_oxide::inflate::decompress_to_vec_zlib;

/// The words of all pages, a blank between two that were printed apart.
pub(crate) fn text(pdf: &[u8]) -> String {
    let streams = streams(pdf);
    let maps: Vec<BTreeMap<u16, char>> =
        streams.iter().filter(|stream| has(stream, b"begincmap")).map(|map| letters(map)).collect();
    // The third is there where a letter is in neither.
    let [regular, bold, symbols @ ..] = maps.as_slice() else { panic!("{} faces", maps.len()) };
    let mut words = Vec::new();
    for page in streams.iter().filter(|stream| has(stream, b" Tf")) {
        let mut face = regular;
        let mut at = 0;
        while at < page.len() {
            if page[at..].starts_with(b"/R ") {
                face = regular;
            } else if page[at..].starts_with(b"/B ") {
                face = bold;
            } else if page[at..].starts_with(b"/S ") {
                face = &symbols[0];
            } else if page[at] == b'(' || (page[at] == b'<' && page.get(at + 1) != Some(&b'<')) {
                let (bytes, end) = string(page, at);
                let number = |pair: &[u8]| u16::from_be_bytes([pair[0], pair[1]]);
                words.push(
                    bytes.chunks_exact(2).map(|pair| face[&number(pair)]).collect::<String>(),
                );
                at = end;
                continue;
            } else if page[at..].starts_with(b"<<") {
                at += 2;
                continue;
            }
            at += 1;
        }
    }
    words.join(" ")
}

fn has(stream: &[u8], words: &[u8]) -> bool {
    stream.windows(words.len()).any(|window| window == words)
}

/// Those that are packed, unpacked.
fn streams(pdf: &[u8]) -> Vec<Vec<u8>> {
    let find = |from: usize, words: &[u8]| {
        pdf[from..].windows(words.len()).position(|window| window == words).map(|at| from + at)
    };
    let mut streams = Vec::new();
    let mut at = 0;
    while let Some(begin) = find(at, b"\nstream\n") {
        let begin = begin + b"\nstream\n".len();
        let end = find(begin, b"\nendstream").unwrap();
        streams.extend(decompress_to_vec_zlib(&pdf[begin..end]).ok());
        at = end;
    }
    streams
}

/// `<0001> <0041>`: number and letter.
fn letters(map: &[u8]) -> BTreeMap<u16, char> {
    let text = String::from_utf8(map.to_vec()).unwrap();
    let pair = |line: &str| -> Option<(u16, char)> {
        let (number, letter) = line.split_once("> <")?;
        let number = u16::from_str_radix(number.strip_prefix('<')?, 16).ok()?;
        let letter = u32::from_str_radix(letter.strip_suffix('>')?, 16).ok()?;
        Some((number, char::from_u32(letter)?))
    };
    text.lines().filter_map(pair).collect()
}

/// The bytes of a string that begins at `at`, and where it ends.
fn string(page: &[u8], at: usize) -> (Vec<u8>, usize) {
    let mut bytes = Vec::new();
    let mut at = at + 1;
    if page[at - 1] == b'<' {
        let end = at + page[at..].iter().position(|byte| *byte == b'>').unwrap();
        let digits = std::str::from_utf8(&page[at..end]).unwrap();
        for pair in digits.as_bytes().chunks_exact(2) {
            bytes.push(u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap());
        }
        return (bytes, end + 1);
    }
    let mut depth = 0;
    loop {
        match page[at] {
            b'\\' => {
                at += 1;
                if page[at].is_ascii_digit() {
                    // Three digits of eight.
                    let digits = std::str::from_utf8(&page[at..at + 3]).unwrap();
                    bytes.push(u8::from_str_radix(digits, 8).unwrap());
                    at += 3;
                    continue;
                }
                bytes.push(match page[at] {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'f' => 12,
                    byte => byte,
                });
            }
            b'(' => {
                depth += 1;
                bytes.push(b'(');
            }
            b')' if depth == 0 => return (bytes, at + 1),
            b')' => {
                depth -= 1;
                bytes.push(b')');
            }
            byte => bytes.push(byte),
        }
        at += 1;
    }
}
