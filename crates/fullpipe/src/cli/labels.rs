//! The free fields of a run on the command line.

use fp_report::Labels;

/// What the run is called by: in its result, on its certificate, in the history.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Labels")]
pub(crate) struct LabelArgs {
    /// Where it was measured
    #[arg(long, value_name = "TEXT", value_parser = label)]
    site: Option<String>,
    /// The circuit or service that was measured
    #[arg(long, value_name = "TEXT", value_parser = label)]
    circuit: Option<String>,
    /// Who measured
    #[arg(long, value_name = "TEXT", value_parser = label)]
    technician: Option<String>,
    /// The work order
    #[arg(long, value_name = "TEXT", value_parser = label)]
    order: Option<String>,
    /// Anything else to find it by
    #[arg(long, value_name = "TEXT", value_parser = label)]
    label: Option<String>,
}

const CHARACTERS_MAX: usize = 200;

fn label(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("a label has at least one character".into());
    }
    if text.chars().count() > CHARACTERS_MAX || text.chars().any(char::is_control) {
        return Err(format!("a label is one line of at most {CHARACTERS_MAX} characters"));
    }
    Ok(text.to_owned())
}

impl LabelArgs {
    pub(crate) fn labels(&self) -> Labels {
        let Self { site, circuit, technician, order, label } = self.clone();
        Labels { site, circuit, technician, order, label }
    }
}
