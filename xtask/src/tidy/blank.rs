//! Rust text with comments and the insides of literals blanked out, line for line.

/// What a comment or a literal begins with.
const OPENING: [char; 5] = ['/', '"', '\'', 'r', 'b'];

/// Replaces every character of a comment or of a string literal by a space; line breaks stay.
pub(super) fn comments_and_literals(text: &str) -> String {
    with(text, ' ')
}

/// Replaces every character of a comment by a space, and of a literal by a quote: a line that holds
/// nothing but a literal's text still counts as code.
pub(super) fn comments_alone(text: &str) -> String {
    with(text, '"')
}

fn with(text: &str, literal: char) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = if OPENING.contains(&first) {
            blank_len(rest, out.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        } else {
            None
        };
        let (token, after) = rest.split_at(len.unwrap_or(first.len_utf8()));
        if len.is_some() {
            let fill = if token.starts_with('/') { ' ' } else { literal };
            out.extend(token.chars().map(|c| if c == '\n' { '\n' } else { fill }));
        } else {
            out.push_str(token);
        }
        rest = after;
    }
    out
}

/// How many bytes from the start of `rest` belong to one comment or literal.
fn blank_len(rest: &str, inside_word: bool) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment_len(rest));
    }
    if let Some(inside) = rest.strip_prefix('"') {
        return Some(1 + quoted_len(inside));
    }
    if !inside_word && let Some(hashes) = raw_string_hashes(rest) {
        let end = format!("\"{}", "#".repeat(hashes));
        let open = rest.find('"')? + 1;
        return Some(rest[open..].find(&end).map_or(rest.len(), |at| open + at + end.len()));
    }
    char_literal_len(rest)
}

fn block_comment_len(rest: &str) -> usize {
    let mut depth = 0_usize;
    let bytes = rest.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes.get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// The length of a string's inside and its closing quote.
fn quoted_len(inside: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    inside.len()
}

/// How many `#` open a raw string that starts here, if one does.
fn raw_string_hashes(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let quote = after.trim_start_matches('#');
    quote.starts_with('"').then(|| after.len() - quote.len())
}

/// A quote opens a literal only when another one follows at once; otherwise it is a lifetime.
fn char_literal_len(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    if inside.starts_with('\\') {
        return inside[2..].find('\'').map(|at| at + 4);
    }
    let first = inside.chars().next()?;
    inside[first.len_utf8()..].starts_with('\'').then(|| first.len_utf8() + 2)
}

#[cfg(test)]
mod tests {
    use super::{comments_alone, comments_and_literals};

    #[test]
    fn comments_and_literals_become_spaces_and_the_rest_stays() {
        let text = "a // b\n\"c\\\"d\" e /* f /* g */ h */ i r#\"j\"k\"# l";
        let want = format!("a     \n{:6} e {:17} i {:8} l", "", "", "");
        assert_eq!(comments_and_literals(text), want);
    }

    #[test]
    fn lifetimes_are_not_taken_for_character_literals() {
        assert_eq!(comments_and_literals("&'a str, 'b', '\\''"), "&'a str,    ,     ");
    }

    #[test]
    fn a_literal_stays_visible_where_comments_alone_are_blanked() {
        assert_eq!(comments_alone("f(\"a\n b\"); // c"), "f(\"\"\n\"\"\");     ");
    }

    #[test]
    fn a_line_keeps_its_number() {
        let text = "\"one\ntwo\"\n/*\n*/ x";
        assert_eq!(comments_and_literals(text).lines().count(), 4);
    }
}
