//! `fullpipe completions` and `fullpipe man`: what a shell and a manual need to know of the command line.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context as _;
use clap::CommandFactory as _;

use super::{Cli, document};
use crate::exit::{Exit, Failure};

/// Prints what completes this command line in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For one user of bash, zsh or fish:

  fullpipe completions bash > ~/.local/share/bash-completion/completions/fullpipe
  fullpipe completions zsh > ~/.zfunc/_fullpipe
  fullpipe completions fish > ~/.config/fish/completions/fullpipe.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fullpipe", &mut script);
    document::print(&String::from_utf8_lossy(&script)).map(|()| Exit::Passed)
}

/// Writes the man page of each command into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For one user, after which `man fullpipe-burst` finds its page:

  fullpipe man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder, which is made where it is missing
    folder: PathBuf,
}

pub(crate) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let folder = &args.folder;
    let unusable = || format!("cannot write man pages to {}: name a folder", folder.display());
    let written = fs::create_dir_all(folder).and_then(|()| {
        let mut cli = Cli::command().disable_help_subcommand(true);
        cli.build();
        pages(&cli, folder)
    });
    written.with_context(unusable).map_err(Failure::bad_input)?;
    Ok(Exit::Passed)
}

/// The page of a command, and those of the commands below it.
fn pages(command: &clap::Command, folder: &Path) -> io::Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    if command.get_subcommands().next().is_none() {
        text.extend(exit_status().as_bytes());
    }
    fs::write(folder.join(page.get_filename()), text)?;
    command.get_subcommands().try_for_each(|below| pages(below, folder))
}

/// What each exit code says, as a section of a page.
fn exit_status() -> String {
    let code = |exit: Exit| format!(".TP\n{}\n{}\n", exit.code(), exit.meaning());
    format!(".SH \"EXIT STATUS\"\n{}", Exit::OF_TESTS.map(code).concat())
}
