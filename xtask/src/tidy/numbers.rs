//! The numbers of a Rust file: constants with a name, and literals without one.

use super::production::item_len;

/// Types whose constants are numbers, alone or in a list.
const NUMERIC: [&str; 18] = [
    "f32", "f64", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128",
    "isize", "Duration", "Rate", "Bytes", "Number",
];

/// Numbers that need no name, beside the powers of ten.
const PLAIN: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 8.0];

/// Where the numbers of a file stand, in bytes.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Numbers {
    pub(super) constants: Vec<usize>,
    pub(super) unnamed: Vec<usize>,
}

/// Reads code without comments, literals of text and tests.
pub(super) fn numbers(code: &str) -> Numbers {
    let mut numbers = Numbers::default();
    let mut at = 0;
    while let Some(first) = code[at..].chars().next() {
        let len = if first.is_ascii_digit() {
            let len = literal_len(&code[at..]);
            if !is_tuple_field(&code[..at]) && !is_plain(&code[at..at + len]) {
                numbers.unnamed.push(at);
            }
            len
        } else if first.is_ascii_alphabetic() || first == '_' {
            let word_len = word_len(&code[at..]);
            match constant_type(&code[..at], &code[at..at + word_len], &code[at + word_len..]) {
                Some(kind) => {
                    if is_numeric(kind) {
                        numbers.constants.push(at);
                    }
                    item_len(&code[at..])
                }
                None => word_len,
            }
        } else {
            first.len_utf8()
        };
        at += len;
    }
    numbers
}

fn word_len(code: &str) -> usize {
    code.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(code.len())
}

/// The type of the constant that the word `const` or `static` opens; none where it opens something else.
fn constant_type<'a>(before: &str, word: &str, after: &'a str) -> Option<&'a str> {
    if !["const", "static"].contains(&word) || before.trim_end().ends_with(['<', ',', '\'']) {
        return None;
    }
    let after = after.trim_start();
    if !after.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') {
        return None;
    }
    let (_, kind) = after.split_once(':')?;
    kind.split('=').next()
}

fn is_numeric(kind: &str) -> bool {
    let kind = kind.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    NUMERIC.contains(&&kind[..word_len(kind)])
}

/// Whether a digit after this text is the `0` of `pair.0`, and not the end of a range.
fn is_tuple_field(before: &str) -> bool {
    before.ends_with('.') && !before.ends_with("..")
}

/// `1_000u64`, `0.5`, `1e-3`, `0xff`; not more than `0` of `0..9` and of `0.max(x)`.
fn literal_len(code: &str) -> usize {
    let mut len = word_len(code);
    let fraction = &code[len..];
    if fraction.starts_with('.') && fraction[1..].starts_with(|c: char| c.is_ascii_digit()) {
        len += 1 + word_len(&fraction[1..]);
    }
    let is_hexadecimal = code.starts_with("0x");
    if !is_hexadecimal && code[..len].ends_with('e') && code[len..].starts_with(['-', '+']) {
        len += 1 + word_len(&code[len + 1..]);
    }
    len
}

fn is_plain(literal: &str) -> bool {
    let digits = literal.replace('_', "");
    let digits = NUMERIC.iter().find_map(|kind| digits.strip_suffix(kind)).unwrap_or(&digits);
    digits.parse::<f64>().is_ok_and(|value| {
        PLAIN.contains(&value) || (value >= 10.0 && value.log10().fract() == 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many constants and how many unnamed numbers.
    fn counts(code: &str) -> (usize, usize) {
        let found = numbers(code);
        (found.constants.len(), found.unnamed.len())
    }

    #[test]
    fn numeric_constants_are_counted_and_what_stands_in_them_has_a_name() {
        let code = "const A: f64 = 0.95;\npub(super) const B: [Duration; 2] = [s(5), s(7)];\n\
                    static C: u64 = 12;\nconst D: &[Rate] = &[Rate::from(64)];\n";
        assert_eq!(counts(code), (4, 0));
    }

    #[test]
    fn other_constants_and_constant_functions_and_parameters_are_none() {
        let code = "const A: &str = X;\nconst B: Plan = Plan { x: 9 };\nconst fn f(x: u32) {}\n\
                    fn g<const N: usize>() {}\nlet p: *const T;\n";
        assert_eq!(counts(code), (0, 0));
    }

    #[test]
    fn numbers_without_a_name_are_counted() {
        assert_eq!(counts("x * 0.95 + 1e-3 + f(5, 1_500u32, 0x3f) + r(7..9)"), (0, 7));
    }

    #[test]
    fn plain_numbers_names_and_fields_of_tuples_are_none() {
        assert_eq!(
            counts("x * 2.0 + 1e6 + f(3, 1_000_000_u64) + rfc2544 + pair.5 + r(0..8)"),
            (0, 0)
        );
    }
}
