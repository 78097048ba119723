//! Lines that a text takes in a width.

use super::font::TypeFace;

/// At blanks; a word that is wider than the line is cut where the line ends.
pub(super) fn wrap(text: &str, font: TypeFace<'_>, size: f64, width: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        let blank = if line.is_empty() { "" } else { " " };
        if font.width(&format!("{line}{blank}{word}"), size) <= width {
            line.push_str(blank);
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(String::new());
        }
        for part in parts(word, font, size, width) {
            match lines.last_mut() {
                Some(line) if line.is_empty() => *line = part,
                _ => lines.push(part),
            }
        }
    }
    lines
}

/// The word itself where it fits.
fn parts(word: &str, font: TypeFace<'_>, size: f64, width: f64) -> Vec<String> {
    let mut parts = vec![String::new()];
    for c in word.chars() {
        let Some(part) = parts.last_mut() else { break };
        if part.is_empty() || font.width(&format!("{part}{c}"), size) <= width {
            part.push(c);
        } else {
            parts.push(c.to_string());
        }
    }
    parts
}

/// Of its widest word.
pub(super) fn widest_word(text: &str, font: TypeFace<'_>, size: f64) -> f64 {
    text.split_whitespace().map(|word| font.width(word, size)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::font::{Fonts, Weight};
    use super::*;

    #[test]
    fn no_line_is_wider_than_it_may_be_and_no_letter_is_lost() {
        let fonts = Fonts::new().unwrap();
        let font = fonts.face(Weight::Regular);
        let text = "a sentence of words and ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410";
        for width in [20.0, 60.0, 200.0, 2000.0] {
            let lines = wrap(text, font, 9.0, width);
            assert!(lines.iter().all(|line| font.width(line, 9.0) <= width), "{lines:?}");
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            assert_eq!(letters(&lines.concat()), letters(text));
        }
        assert_eq!(wrap(text, font, 9.0, 2000.0), [text]);
    }
}
