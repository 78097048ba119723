//! What can be filled in for a run: the options of each command, as its parser knows them.

use clap::{Arg, ArgAction, Command, CommandFactory as _};
use fp_method::methods::Method;
use fp_server::web::{Form, FormGroup, FormOption};

use super::super::Cli;
use super::super::words::{DECIDED, methods, names};

/// Given in fields of their own.
const LABELS: [&str; 5] = ["site", "circuit", "technician", "order", "label"];

/// A form for each command that measures.
pub(super) fn forms() -> Vec<Form> {
    let mut cli = Cli::command();
    cli.build();
    let simulated = cli.find_subcommand("sim");
    methods()
        .iter()
        .filter_map(|name| cli.find_subcommand(name))
        .map(|command| form(command, simulated))
        .collect()
}

fn form(command: &Command, simulated: Option<&Command>) -> Form {
    let name = command.get_name();
    let text = |styled: Option<&clap::builder::StyledStr>| styled.map(ToString::to_string);
    let mut groups: Vec<FormGroup> = Vec::new();
    for arg in command.get_arguments().filter(|arg| is_asked(arg)) {
        let heading = arg.get_help_heading().map(String::from);
        match groups.iter_mut().find(|group| group.heading == heading) {
            Some(group) => group.options.push(option(arg)),
            None => groups.push(FormGroup { heading, options: vec![option(arg)] }),
        }
    }
    let about = command.get_long_about().or_else(|| command.get_about());
    let title = Method::of_command(name).map_or(name, |method| method.title);
    Form {
        name: name.to_owned(),
        title: title.to_owned(),
        about: text(about).unwrap_or_default(),
        can_simulate: simulated.is_some_and(|sim| sim.find_subcommand(name).is_some()),
        groups,
    }
}

fn is_asked(arg: &Arg) -> bool {
    let id = arg.get_id().as_str();
    let is_about_the_program = matches!(
        arg.get_action(),
        ArgAction::Help | ArgAction::HelpLong | ArgAction::HelpShort | ArgAction::Version
    );
    !is_about_the_program && !arg.is_hide_set() && !DECIDED.contains(&id) && !LABELS.contains(&id)
}

fn option(arg: &Arg) -> FormOption {
    let takes_value = arg.get_action().takes_values();
    let name = names(arg).into_iter().next().unwrap_or_else(|| arg.get_id().to_string());
    let flag = match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => arg.get_id().as_str().to_uppercase(),
    };
    let value_name = || {
        let names = arg.get_value_names().unwrap_or_default();
        names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let defaults = arg.get_default_values();
    let default =
        defaults.iter().map(|value| value.to_string_lossy()).collect::<Vec<_>>().join(",");
    let choices = arg.get_possible_values();
    let choices = choices.iter().filter(|value| takes_value && !value.is_hide_set());
    FormOption {
        name,
        flag,
        value_name: takes_value.then(value_name),
        help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        default: Some(default).filter(|text| takes_value && !text.is_empty()),
        choices: choices.map(|value| value.get_name().to_owned()).collect(),
        many: matches!(arg.get_action(), ArgAction::Append),
        positional: arg.is_positional(),
        required: arg.is_required_set(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_a_form_and_nothing_in_it_that_is_decided_elsewhere() {
        let forms = forms();
        let names: Vec<&str> = forms.iter().map(|form| form.name.as_str()).collect();
        assert_eq!(names, ["test", "flow", "rfc2544", "y1564", "burst", "rfc7640", "stress"]);
        for form in &forms {
            assert!(form.can_simulate && !form.about.is_empty());
            assert!((10..=60).contains(&form.title.len()), "{}", form.title);
            for option in form.groups.iter().flat_map(|group| &group.options) {
                assert!(!option.help.is_empty(), "{}: {}", form.name, option.name);
                assert!(!["json", "lab", "site", "help"].contains(&option.name.as_str()));
            }
        }
    }

    #[test]
    fn an_option_says_what_it_takes() {
        let forms = forms();
        let of = |form: &str, name: &str| {
            let form = forms.iter().find(|known| known.name == form).unwrap();
            let mut options = form.groups.iter().flat_map(|group| &group.options);
            options.find(|option| option.name == name).unwrap().clone()
        };
        let cir = of("burst", "cir");
        assert_eq!((cir.flag.as_str(), cir.required), ("--cir", false));
        assert!(cir.value_name.is_some_and(|name| name.starts_with("RATE")));
        assert_eq!(of("burst", "discover").value_name, None);
        assert!(of("rfc2544", "search").choices.contains(&String::from("binary")));
        assert!(of("y1564", "services").positional);
    }
}
