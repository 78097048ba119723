//! The command line of `cargo xtask truth`.

use std::path::PathBuf;

use crate::method::Method;
use crate::table::Limits;

pub(crate) const USAGE: &str = "\
usage: cargo xtask truth [--seed S] [--links] [--count N | --only INDEX | --table | --kernel] [--method M,…]
                         [--jobs J] [--json FILE] [--matrix FILE] [--files FOLDER] [--wrong-max P] [--invalid-max P]
                         [--unknown-max P] [--unknown-impaired-max P] [--covers-min P]
       cargo xtask truth --calibrate FILE…   how often lists of runs are wrong, by kind of path
  --count N       so many random networks (300)
  --links         whose links have elements drawn one by one, in any order, instead of usual ones
  --only INDEX    this one of them, with every figure
  --table         the named networks instead
  --kernel        those that the kernel's own router makes, in real time (needs ip, tc and nft)
  --name WORD     of the named or the kernel's networks those whose names have this
  --method M,…    test, discover, burst, rfc2544, rfc7640, y1564 (all)
  --json FILE     every run with every figure
  --matrix FILE   the tables in Markdown, as the manual has them
  --files FOLDER  files of the networks that something was wrong of (target/truth)
  --…-max P       more percent of a method's runs are a failure; unknown: without loss, jitter and host
                  trouble, unknown-impaired: with them
  --covers-min P  fewer percent of the stated intervals hold the truth are one, too";

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) seed: u64,
    /// Networks whose links are drawn one by one.
    pub(crate) is_of_links: bool,
    pub(crate) which: Which,
    pub(crate) methods: Vec<Method>,
    pub(crate) name: Option<String>,
    pub(crate) jobs: Option<usize>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) matrix: Option<PathBuf>,
    pub(crate) files: PathBuf,
    pub(crate) limits: Limits,
}

/// Which networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Drawn { count: u64 },
    Only { index: u64 },
    Fixed,
    Kernel,
}

impl Options {
    /// # Errors
    /// The word that is not understood.
    pub(crate) fn of(words: &[String]) -> Result<Self, String> {
        let mut options = Self {
            seed: 1,
            is_of_links: false,
            which: Which::Drawn { count: 300 },
            methods: Method::ALL.to_vec(),
            name: None,
            jobs: None,
            json: None,
            matrix: None,
            files: PathBuf::from("target/truth"),
            limits: Limits::default(),
        };
        let mut words = words.iter().map(String::as_str);
        while let Some(name) = words.next() {
            match name {
                "--links" => options.is_of_links = true,
                "--table" => options.which = Which::Fixed,
                "--kernel" => options.which = Which::Kernel,
                _ => {
                    let value = words.next();
                    let value = value.ok_or_else(|| format!("{name}: what is meant is missing"))?;
                    options.set(name, value)?;
                }
            }
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let bad = |_| format!("{name} {value}: not a number");
        let whole = || value.parse::<u64>().map_err(bad);
        let percent = || {
            let number = value.trim_end_matches('%').parse::<f64>();
            number.map(Some).map_err(|_| format!("{name} {value}: not a percentage"))
        };
        match name {
            "--seed" => self.seed = whole()?,
            "--count" => self.which = Which::Drawn { count: whole()? },
            "--only" => self.which = Which::Only { index: whole()? },
            "--jobs" => self.jobs = Some(value.parse().map_err(bad)?),
            "--method" => {
                let named = |name: &str| {
                    Method::named(name).ok_or_else(|| format!("there is no method '{name}'"))
                };
                self.methods = value.split(',').map(named).collect::<Result<_, _>>()?;
            }
            "--name" => self.name = Some(value.into()),
            "--json" => self.json = Some(value.into()),
            "--matrix" => self.matrix = Some(value.into()),
            "--files" => self.files = value.into(),
            "--wrong-max" => self.limits.wrong = percent()?,
            "--invalid-max" => self.limits.invalid = percent()?,
            "--unknown-max" => self.limits.unknown = percent()?,
            "--unknown-impaired-max" => self.limits.unknown_impaired = percent()?,
            "--covers-min" => self.limits.covers = percent()?,
            _ => return Err(format!("{name}: not known")),
        }
        Ok(())
    }
}
