//! Three questions to somebody who has typed `fullpipe` and nothing else on a terminal.

use std::io::{self, BufRead, IsTerminal as _, Write};
use std::path::Path;

use super::secrets;
use crate::network;
use crate::values::layered_rate;

/// The words of the command that was agreed on; `None` where there is nobody to ask, or who was asked
/// would rather see the help.
pub(super) fn command() -> Option<Vec<String>> {
    let is_alone = std::env::args_os().len() == 1;
    if !is_alone || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    // A terminal that is gone is nobody either.
    asked(&mut io::stdin().lock(), &mut io::stderr()).ok().flatten()
}

fn asked(input: &mut impl BufRead, out: &mut impl Write) -> io::Result<Option<Vec<String>>> {
    writeln!(
        out,
        "fullpipe tests what a network path carries. Three questions; for all commands: \
         fullpipe --help\n"
    )?;
    let question = "Across what? The pairing string that `fullpipe serve` prints at the far end, or a \
                    built-in\nnetwork to try it (such as metro-40m-cbs64k): ";
    let Some(path) = answer(input, out, question)?.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let mut words = vec![String::from("fullpipe"), String::from("test")];
    if network::list().any(|(name, _)| name == path) || Path::new(&path).is_file() {
        words.push(String::from("--lab"));
    }
    words.push(path);
    let sold = loop {
        let question = "What was sold? A rate such as 40M; nothing, where that is not known: ";
        match answer(input, out, question)? {
            None => return Ok(None),
            Some(text) if text.is_empty() => break None,
            Some(text) => match layered_rate(&text) {
                Ok(_) => break Some(text),
                Err(why) => writeln!(out, "{text}: {why}")?,
            },
        }
    };
    words.extend(sold.into_iter().flat_map(|rate| [String::from("--cir"), rate]));
    let shown: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    writeln!(out, "\n  {}\n", secrets::left_out(&shown.join(" ")))?;
    let agreed = answer(input, out, "This loads the path for about a minute. Run it? [Y/n] ")?;
    let is_agreed = agreed.is_some_and(|text| ["", "y", "yes"].contains(&&*text.to_lowercase()));
    Ok(is_agreed.then_some(words))
}

/// The line that is typed, without blanks at its ends; `None` at the end of input.
fn answer(
    input: &mut impl BufRead,
    out: &mut impl Write,
    question: &str,
) -> io::Result<Option<String>> {
    write!(out, "{question}")?;
    out.flush()?;
    let mut line = String::new();
    let bytes = input.read_line(&mut line)?;
    Ok((bytes > 0).then(|| line.trim().to_owned()))
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@".contains(letter);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{word}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(typed: &str) -> (Option<Vec<String>>, String) {
        let mut out = Vec::new();
        let words = asked(&mut typed.as_bytes(), &mut out).unwrap();
        (words, String::from_utf8(out).unwrap())
    }

    fn words(typed: &str) -> Option<String> {
        talk(typed).0.map(|words| words.join(" "))
    }

    #[test]
    fn the_answers_are_the_words_of_a_test() {
        assert_eq!(
            words("metro-40m-cbs64k\n40M\n\n").unwrap(),
            "fullpipe test --lab metro-40m-cbs64k --cir 40M"
        );
        assert_eq!(words("far.example\n\ny\n").unwrap(), "fullpipe test far.example");
    }

    #[test]
    fn a_wrong_rate_is_asked_again_and_a_no_or_an_end_runs_nothing() {
        let (words_of, said) = talk("far.example\nfast\n10M@l1\nYES\n");
        assert_eq!(words_of.unwrap().join(" "), "fullpipe test far.example --cir 10M@l1");
        assert!(said.contains("\nfast: ") || said.contains(": fast: "), "{said}");
        for typed in ["", "\n", "far.example\n", "far.example\n40M\n", "far.example\n40M\nno\n"] {
            assert_eq!(words(typed), None, "{typed:?}");
        }
    }

    #[test]
    fn the_command_is_shown_as_a_shell_takes_it_and_without_the_secret() {
        let secret = "AaeNR9BmyuOPixCvv31Lk1AA6LIknaSPdsBfOM-Nsqjb7WgDjyYY2dhtnbhGoWVtMZKH";
        let (words, said) = talk(&format!("fp://far:6349#{secret}\n\n\n"));
        assert!(words.unwrap()[2].ends_with(secret));
        assert!(said.contains("fullpipe test 'fp://far:6349#"), "{said}");
        assert!(!said.contains(secret), "{said}");
    }
}
