//! Secrets of far ends, which no message repeats.

/// Shorter words after a '#' are no secrets: these have 68 characters, fewer where one was cut off.
const LEAST_CHARACTERS: usize = 16;

/// `text` with a mark in the place of each secret that follows a '#', as in a pairing string.
pub(crate) fn left_out(text: &str) -> String {
    let is_of_a_secret = |c: char| c.is_ascii_alphanumeric() || "-_+/=".contains(c);
    let mut parts = text.split('#');
    let mut shown = String::from(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|c| !is_of_a_secret(c)).unwrap_or(part.len());
        let (word, rest) = part.split_at(end);
        shown.push('#');
        shown.push_str(if word.len() < LEAST_CHARACTERS { word } else { "…" });
        shown.push_str(rest);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_number_sign_is_left_out_if_it_may_be_a_secret() {
        let secret = "ATlIjSL6c83emLMmObyc0F7x7geBe1bSQJ65bDuzVnaa2h_MEho3Q3J218zQ3po9yH6I";
        for (text, shown) in [
            (format!("'fp://h:1#{secret}' found"), "'fp://h:1#…' found"),
            (format!("a#{secret}, b#{secret}"), "a#…, b#…"),
            (format!("h#{}", &secret[..40]), "h#…"),
            (String::from("a secret after a '#': issue #12"), "a secret after a '#': issue #12"),
        ] {
            assert_eq!(left_out(&text), shown);
        }
    }
}
