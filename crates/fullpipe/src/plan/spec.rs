//! From the keys of a plan file to tests that can be run.

use std::path::PathBuf;
use std::time::Duration;

use serde_saphyr::Spanned;

use super::criterion::{Criterion, Limit};
use super::file::{self, File};
use super::variables::{Variables, expect_name, is_used, single};
use super::{KIND, Plan, Schedule, Setting, Target, Test};
use crate::yaml::value::{duration, positive, whole};
use crate::yaml::{Keys, Node, Problem, Text, at, nearest};

const MOST_TESTS: usize = 1000;
const MOST_REPETITIONS: u64 = 100;
const MOST_ROUNDS: u64 = 10_000;
const MOST_CHARACTERS: usize = 100;
const MOST_PAUSE: Duration = Duration::from_secs(24 * 3600);
const MOST_INTERVAL: Duration = Duration::from_secs(31 * 24 * 3600);

/// The keys of a test beside the one that names its command.
const OF_A_TEST: [&str; 11] = [
    "name", "tags", "far", "lab", "sim", "matrix", "repeat", "pause", "timeout", "pass", "verdict",
];

pub(super) fn plan(
    file: File,
    set: &[(String, String)],
    methods: &[&str],
) -> Result<Plan, Problem> {
    KIND.check_schema(&file.plan)?;
    let variables = Variables::of(file.variables.as_ref(), set)?;
    let fill = |text: Option<Text>| text.map(|text| variables.fill(&text)).transpose();
    let target = one_target(fill(file.far)?, fill(file.lab)?, fill(file.sim)?)?;
    let name = fill(file.name)?;
    if file.tests.value.is_empty() {
        return Err(Problem::with(&file.tests, "a plan has at least one test"));
    }
    let mut tests: Vec<Test> = Vec::new();
    for written in &file.tests.value {
        for (name, test) in each_of(written, &variables, methods)? {
            if tests.iter().any(|other| other.name == test.name) {
                let sentence = format!("a second test `{}`: each has its own name", test.name);
                return Err(Problem::with(&name, sentence));
            }
            if tests.len() == MOST_TESTS {
                let sentence = format!("at most {MOST_TESTS} tests are allowed");
                return Err(Problem::with(&name, sentence));
            }
            tests.push(test);
        }
    }
    Ok(Plan {
        name: name.map_or_else(|| Ok(String::from("plan")), |name| line(&name))?,
        target,
        tests,
        schedule: file.schedule.map_or(Ok(Schedule::ONCE), |keys| schedule(&keys.value))?,
        stop_on_fail: file.stop_on_fail.unwrap_or(false),
        file: PathBuf::new(),
    })
}

fn schedule(keys: &file::Schedule) -> Result<Schedule, Problem> {
    Ok(Schedule {
        every: positive(&keys.every, |text| duration(text, MOST_INTERVAL))?,
        times: whole(&keys.times, 1..=MOST_ROUNDS)? as u32,
    })
}

/// The tests that one entry stands for, each beside the place of its name: one for each combination
/// of its matrix.
fn each_of(
    written: &Spanned<Node>,
    variables: &Variables,
    methods: &[&str],
) -> Result<Vec<(Text, Test)>, Problem> {
    let Node::Keys(keys) = &written.value else {
        let sentence = format!("a test has keys with values, not {}", written.value);
        return Err(Problem::with(written, sentence));
    };
    let mut keys = keys.clone();
    let matrix = match keys.take("matrix") {
        Some(matrix) => combinations(&matrix, &keys, variables)?,
        None => vec![Vec::new()],
    };
    let named = |combination: &Vec<(Text, String)>| {
        let scope = variables.and(combination)?;
        let place = at(written, String::new());
        test(&place, &keys, scope.fill_keys(&keys)?, combination, methods)
    };
    matrix.iter().map(named).collect()
}

/// Every way to take one value of each variable of a matrix, the last variable changing first.
fn combinations(
    matrix: &Spanned<Node>,
    test: &Keys,
    variables: &Variables,
) -> Result<Vec<Vec<(Text, String)>>, Problem> {
    let Node::Keys(keys) = &matrix.value else {
        let sentence = "a matrix has variables with lists of values, such as window: [64K, 256K]";
        return Err(Problem::with(matrix, sentence));
    };
    let mut all = vec![Vec::new()];
    for (name, values) in keys.pairs() {
        expect_name(name)?;
        if !is_used(&name.value, test) {
            let sentence = format!("no value of this test says ${}", name.value);
            return Err(Problem::with(name, sentence));
        }
        let Node::List(values) = &values.value else {
            return Err(Problem::with(values, "expected a list of values here"));
        };
        if values.is_empty() || values.len() * all.len() > MOST_TESTS {
            let sentence = format!("a matrix makes from 1 to {MOST_TESTS} tests");
            return Err(Problem::with(name, sentence));
        }
        let values: Vec<String> = values
            .iter()
            .map(|value| Ok(variables.fill(&single(value)?)?.value))
            .collect::<Result<_, _>>()?;
        let longer = |one: &Vec<(Text, String)>| {
            let with = |value: &String| {
                let mut one = one.clone();
                one.push((name.clone(), value.clone()));
                one
            };
            values.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    Ok(all)
}

fn test(
    place: &Text,
    written: &Keys,
    mut keys: Keys,
    combination: &[(Text, String)],
    methods: &[&str],
) -> Result<(Text, Test), Problem> {
    let mut text = |key: &str| keys.take(key).map(|node| single(&node)).transpose();
    let (name, verdict) = (text("name")?, text("verdict")?);
    let (repeat, pause, timeout) = (text("repeat")?, text("pause")?, text("timeout")?);
    let target = one_target(text("far")?, text("lab")?, text("sim")?)?;
    let tags = keys.take("tags").map_or_else(|| Ok(Vec::new()), |node| texts(&node))?;
    let pass = keys.take("pass").map_or_else(|| Ok(Vec::new()), |node| criteria(&node))?;
    let (method, options) = method(place, &keys, methods)?;
    let name = name.unwrap_or_else(|| method.clone());
    let test = Test {
        name: full_name(&line(&name)?, written, combination),
        tags: tags.iter().map(line).collect::<Result<_, _>>()?,
        target,
        method,
        options,
        repeat: repeat.map_or(Ok(1), |text| whole(&text, 1..=MOST_REPETITIONS))? as u32,
        pause: pause.map_or(Ok(Duration::ZERO), |text| duration(&text, MOST_PAUSE))?,
        timeout: timeout
            .map(|text| positive(&text, |text| duration(text, MOST_INTERVAL)))
            .transpose()?,
        counts_verdict: verdict.map_or(Ok(true), |text| counts(&text))?,
        pass,
    };
    Ok((name, test))
}

fn counts(text: &Text) -> Result<bool, Problem> {
    match text.value.as_str() {
        "count" => Ok(true),
        "ignore" => Ok(false),
        other => Err(Problem::with(text, format!("`{other}`: allowed are count and ignore"))),
    }
}

/// The command of a test with its options.
fn method(place: &Text, keys: &Keys, methods: &[&str]) -> Result<(Text, Vec<Setting>), Problem> {
    let mut found = None;
    for (key, value) in keys.pairs() {
        if !methods.contains(&key.value.as_str()) {
            return Err(unknown_key(key, methods));
        }
        if found.is_some() {
            let sentence = format!("a test has one command: `{}` is a second", key.value);
            return Err(Problem::with(key, sentence));
        }
        found = Some((key.clone(), settings(value)?));
    }
    found.ok_or_else(|| {
        let commands = methods.join(", ");
        Problem::with(place, format!("this test has no command: name one of {commands}"))
    })
}

fn unknown_key(key: &Text, methods: &[&str]) -> Problem {
    let allowed = [methods, &OF_A_TEST].concat();
    let suggestion = match nearest(&key.value, &allowed) {
        Some(nearest) => format!("did you mean `{nearest}`? "),
        None => String::new(),
    };
    let (commands, others) = (methods.join(", "), OF_A_TEST.join(", "));
    let sentence = format!(
        "unknown key `{}`: {suggestion}a test has one command ({commands}) and {others}",
        key.value
    );
    Problem::with(key, sentence)
}

fn settings(node: &Spanned<Node>) -> Result<Vec<Setting>, Problem> {
    match &node.value {
        Node::Nothing => Ok(Vec::new()),
        Node::Keys(keys) => {
            let setting = |(key, value): &(Text, Spanned<Node>)| {
                Ok(Setting { key: key.clone(), values: texts(value)? })
            };
            keys.pairs().iter().map(setting).collect()
        }
        other => {
            let sentence = format!("expected the options of the command here, not {other}");
            Err(Problem::with(node, sentence))
        }
    }
}

/// One value or a list of them.
fn texts(node: &Spanned<Node>) -> Result<Vec<Text>, Problem> {
    match &node.value {
        Node::List(elements) => elements.iter().map(single).collect(),
        Node::Nothing | Node::Value(_) | Node::Keys(_) => Ok(vec![single(node)?]),
    }
}

fn criteria(node: &Spanned<Node>) -> Result<Vec<Criterion>, Problem> {
    match &node.value {
        Node::List(elements) => elements.iter().map(criterion).collect(),
        Node::Nothing | Node::Value(_) | Node::Keys(_) => Ok(vec![criterion(node)?]),
    }
}

fn criterion(node: &Spanned<Node>) -> Result<Criterion, Problem> {
    let Node::Keys(keys) = &node.value else {
        let sentence = "a criterion has the keys step, field, one of at_least, at_most and equals, \
                        and where";
        return Err(Problem::with(node, sentence));
    };
    let mut keys = keys.clone();
    let mut text = |key: &str| keys.take(key).map(|node| single(&node)).transpose();
    let missing = |key: &str| Problem::with(node, format!("the key `{key}` is missing here"));
    let step = text("step")?.ok_or_else(|| missing("step"))?;
    let field = text("field")?.ok_or_else(|| missing("field"))?;
    let limit = match (text("at_least")?, text("at_most")?, text("equals")?) {
        (Some(least), None, None) => Limit::AtLeast(Limit::number(&field.value, &least)?),
        (None, Some(most), None) => Limit::AtMost(Limit::number(&field.value, &most)?),
        (None, None, Some(wanted)) => Limit::Equals(wanted.value),
        _ => {
            let sentence = "a criterion has one of at_least, at_most and equals";
            return Err(Problem::with(node, sentence));
        }
    };
    let conditions = keys.take("where").map_or_else(|| Ok(Vec::new()), |node| conditions(&node))?;
    if let Some((key, _)) = keys.pairs().first() {
        let sentence = format!(
            "unknown key `{}`: allowed are step, where, field, at_least, at_most, equals",
            key.value
        );
        return Err(Problem::with(key, sentence));
    }
    Ok(Criterion { step, conditions, field, limit })
}

fn conditions(node: &Spanned<Node>) -> Result<Vec<(Text, String)>, Problem> {
    let Node::Keys(keys) = &node.value else {
        let sentence = "`where` has fields with values, such as direction: download";
        return Err(Problem::with(node, sentence));
    };
    let condition = |(key, value): &(Text, Spanned<Node>)| Ok((key.clone(), single(value)?.value));
    keys.pairs().iter().map(condition).collect()
}

fn one_target(
    far: Option<Text>,
    lab: Option<Text>,
    sim: Option<Text>,
) -> Result<Option<(Target, Text)>, Problem> {
    let named = |text: Text, target: fn(String) -> Target| (target(text.value.clone()), text);
    let mut targets = [
        far.map(|text| named(text, Target::Far)),
        lab.map(|text| named(text, Target::Lab)),
        sim.map(|text| named(text, Target::Sim)),
    ]
    .into_iter()
    .flatten();
    let first = targets.next();
    if let Some((_, second)) = targets.next() {
        return Err(Problem::with(&second, "one of far, lab and sim is allowed"));
    }
    Ok(first)
}

/// `windows (window 64K)`, unless the name says the value itself.
fn full_name(name: &str, written: &Keys, combination: &[(Text, String)]) -> String {
    let in_name = |variable: &Text| {
        let of_name = written.pairs().iter().filter(|(key, _)| key.value == "name");
        is_used(&variable.value, &Keys::new(of_name.cloned().collect()))
    };
    let others: Vec<String> = combination
        .iter()
        .filter(|(variable, _)| !in_name(variable))
        .map(|(variable, value)| format!("{} {value}", variable.value))
        .collect();
    if others.is_empty() { name.to_owned() } else { format!("{name} ({})", others.join(", ")) }
}

/// A name as it stands in tables and documents.
fn line(text: &Text) -> Result<String, Problem> {
    let name = text.value.trim();
    let characters = name.chars().count();
    if (1..=MOST_CHARACTERS).contains(&characters) && !name.chars().any(char::is_control) {
        return Ok(name.to_owned());
    }
    let sentence = format!("a name has from 1 to {MOST_CHARACTERS} characters, all on one line");
    Err(Problem::with(text, sentence))
}
