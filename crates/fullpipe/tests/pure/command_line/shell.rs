//! Man pages and completions are made of the command line as it is.

use std::fs;
use std::process::Command;

use crate::folder::Folder;
use crate::process::fullpipe;

/// The commands that `--help` lists.
fn commands() -> Vec<String> {
    let help = fullpipe(&["--help"]).stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned));
    names.filter(|name| !name.is_empty() && name != "help").collect()
}

#[test]
fn every_command_has_a_man_page_that_lists_its_options_and_exit_codes() {
    let folder = Folder::new();
    let pages = folder.file("man1");
    let made = fullpipe(&["man", &pages]);
    assert_eq!((made.exit, made.stdout.as_str()), (Some(0), ""), "{}", made.stderr);
    let commands = commands();
    assert!(commands.len() > 15, "{commands:?}");
    for name in &commands {
        let page = fs::read_to_string(format!("{pages}/fullpipe-{name}.1")).unwrap();
        assert!(page.contains("SYNOPSIS"), "{name}: {page}");
    }
    let burst = fs::read_to_string(format!("{pages}/fullpipe-burst.1")).unwrap();
    for text in ["\\-\\-discover", "EXIT STATUS", "\n143\n"] {
        assert!(burst.contains(text), "{text} is not in\n{burst}");
    }
    let whole = fs::read_to_string(format!("{pages}/fullpipe.1")).unwrap();
    for name in &commands {
        let listed = format!("fullpipe\\-{name}(1)");
        assert!(whole.contains(&listed), "{listed} is not in\n{whole}");
    }
}

#[test]
fn man_pages_that_cannot_be_written_are_a_sentence() {
    let folder = Folder::new();
    let file = folder.written("file", "in the way");
    let refused = fullpipe(&["man", &format!("{file}/man1")]);
    assert_eq!((refused.exit, refused.stdout.as_str()), (Some(2), ""));
    assert!(refused.stderr.contains("cannot write man pages to"), "{}", refused.stderr);
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
}

#[test]
fn a_shell_completes_commands_and_options() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = fullpipe(&["completions", shell]);
        assert_eq!(script.exit, Some(0), "{}", script.stderr);
        for word in ["burst", "discover", "rfc2544"] {
            assert!(script.stdout.contains(word), "{shell}: no {word}");
        }
    }
    let script = folder.written("fullpipe.bash", &fullpipe(&["completions", "bash"]).stdout);
    let asked = format!(
        ". {script}; COMP_WORDS=(fullpipe burst --dis); COMP_CWORD=2; \
         _fullpipe fullpipe --dis burst; echo \"${{COMPREPLY[@]}}\""
    );
    let completed = Command::new("bash").args(["--norc", "-c", &asked]).output().unwrap();
    let completed = String::from_utf8_lossy(&completed.stdout).into_owned();
    assert_eq!(completed.trim(), "--discover");
}
