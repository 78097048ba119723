//! Two documents line by line: where they begin to differ.

use miniz_oxide::inflate::decompress_to_vec_zlib;

/// As many lines of each are shown.
const SHOWN: usize = 3;
/// Longer lines are cut.
const COLUMNS: usize = 160;

/// The first lines that differ, the lines of `before` behind a minus, those of `after` behind a plus.
pub(super) fn difference(before: &[u8], after: &[u8]) -> String {
    let [before, after] = [before, after].map(readable);
    let [before, after] = [&before, &after].map(|text| text.lines().collect::<Vec<_>>());
    let alike = before.iter().zip(&after).take_while(|(before, after)| before == after).count();
    let mut text = format!("  line {}:\n", alike + 1);
    for (sign, lines) in [('-', before), ('+', after)] {
        for line in lines.iter().skip(alike).take(SHOWN) {
            text.push_str(&format!("  {sign} {}\n", cut(line)));
        }
    }
    text
}

fn cut(line: &str) -> String {
    let mut shown: String = line.chars().take(COLUMNS).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}

/// A document as text: of a PDF the compressed streams are unpacked.
fn readable(document: &[u8]) -> String {
    const BEGIN: &[u8] = b"\nstream\n";
    const END: &[u8] = b"\nendstream";
    let find = |bytes: &[u8], words: &[u8]| bytes.windows(words.len()).position(|at| at == words);
    let mut text = String::new();
    let mut rest = document;
    while let Some(begin) = find(rest, BEGIN) {
        let (head, tail) = rest.split_at(begin + BEGIN.len());
        let (stream, tail) = tail.split_at(find(tail, END).unwrap_or(tail.len()));
        let unpacked = decompress_to_vec_zlib(stream).unwrap_or_else(|_| stream.to_vec());
        text.push_str(&String::from_utf8_lossy(head));
        text.push_str(&String::from_utf8_lossy(&unpacked));
        rest = tail;
    }
    text + &String::from_utf8_lossy(rest)
}

#[cfg(test)]
mod tests {
    use miniz_oxide::deflate::compress_to_vec_zlib;

    use super::*;

    #[test]
    fn a_difference_begins_at_the_first_line_that_is_not_the_same() {
        let said = difference(b"one\ntwo\nthree\n", b"one\n2\nthree\n");
        assert_eq!(said, "  line 2:\n  - two\n  - three\n  + 2\n  + three\n");
    }

    #[test]
    fn pages_of_a_pdf_are_compared_by_what_is_printed_on_them() {
        let page = |text: &str| {
            let stream = compress_to_vec_zlib(text.as_bytes(), 6);
            [&b"%PDF\nstream\n"[..], &stream, b"\nendstream\n"].concat()
        };
        let said = difference(&page("(39.9)\n"), &page("(40.0)\n"));
        assert!(said.contains("- (39.9)") && said.contains("+ (40.0)"), "{said}");
    }
}
