//! A stored result as tidy tables: one for each kind of step, one for the slots of all series, and one
//! for each list inside a step, joined by the number of the step.
//!
//! Tables follow the structure of the document, so that a new step needs nothing here.

mod cell;
mod sheet;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::stored::Stored;
use sheet::{Row, Sheet};

/// A file's name with its text.
pub type CsvFile = (String, String);

/// The lists of all steps that go into one table.
const SERIES: &str = "series";
/// What tells the rows of a series apart, so that a table of them is read without another beside it.
const OF_A_SERIES: [&str; 13] = [
    "name",
    "direction",
    "flow_direction",
    "role",
    "sender",
    "connections",
    "window_fraction",
    "flow",
    "part",
    "class",
    "transport",
    "service",
    "cir_percent",
];

/// Every table, in the order of their names; text that a spreadsheet would compute is disarmed.
pub fn csv(result: &Stored) -> Vec<CsvFile> {
    let value = result.value();
    let mut sheets: BTreeMap<String, Sheet> = BTreeMap::new();
    add_run(&mut sheets, value);
    let steps = value["steps"].as_array().map_or(&[][..], Vec::as_slice);
    for (place, step) in steps.iter().enumerate() {
        let Some(fields) = step.as_object() else { continue };
        let name = file_name(step["name"].as_str().unwrap_or("step"));
        let key = Row::from([(String::from("step"), place.into())]);
        add_object(&mut sheets, &name, &key, fields);
    }
    sheets.into_iter().map(|(name, sheet)| (format!("{name}.csv"), sheet.text())).collect()
}

/// One row about the run; its reasons and checks.
fn add_run(sheets: &mut BTreeMap<String, Sheet>, result: &Value) {
    let mut row = Row::default();
    for field in ["id", "method", "started", "duration_s", "across"] {
        row.add(field, &result[field]);
    }
    row.add("verdict", &result["verdict"]["status"]);
    for part in ["labels", "near", "far", "clocks"] {
        for (name, value) in result[part].as_object().into_iter().flatten() {
            let name = if part == "labels" { name.clone() } else { format!("{part}_{name}") };
            row.add(&name, value);
        }
    }
    sheets.entry(String::from("run")).or_default().push(row);
    let lists =
        [("reasons", &result["verdict"]["reasons"]), ("checks", &result["validity"]["checks"])];
    for (name, list) in lists {
        add_list(sheets, name, &Row::default(), list);
    }
}

/// One row of the table `name`; lists inside become tables of their own.
fn add_object(
    sheets: &mut BTreeMap<String, Sheet>,
    name: &str,
    key: &Row,
    fields: &Map<String, Value>,
) {
    let mut row = key.clone();
    // When comes before what.
    for name in ["t_s", "dt_s"] {
        if let Some(value) = fields.get(name) {
            row.add(name, value);
        }
    }
    let mut lists = Vec::new();
    flatten("", fields, &mut row, &mut lists);
    for (field, list) in lists {
        if field == SERIES {
            let mut key = key.clone();
            for name in OF_A_SERIES {
                key.add(name, fields.get(name).unwrap_or(&Value::Null));
            }
            add_list(sheets, SERIES, &key, list);
        } else {
            add_list(sheets, &format!("{name}_{}", file_name(&field)), key, list);
        }
    }
    sheets.entry(name.to_owned()).or_default().push(row);
}

/// Fields of fields get both names; lists are put aside.
fn flatten<'a>(
    before: &str,
    fields: &'a Map<String, Value>,
    row: &mut Row,
    lists: &mut Vec<(String, &'a Value)>,
) {
    for (name, value) in fields {
        let name = if before.is_empty() { name.clone() } else { format!("{before}_{name}") };
        match value {
            Value::Object(inside) => flatten(&name, inside, row, lists),
            Value::Array(_) => lists.push((name, value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                row.add(&name, value);
            }
        }
    }
}

/// Each element a row, with its number in the list.
fn add_list(sheets: &mut BTreeMap<String, Sheet>, name: &str, key: &Row, list: &Value) {
    for (place, element) in list.as_array().into_iter().flatten().enumerate() {
        let mut key = key.clone();
        key.add_place(place);
        match element {
            Value::Object(fields) => add_object(sheets, name, &key, fields),
            value => {
                key.add("value", value);
                sheets.entry(name.to_owned()).or_default().push(key);
            }
        }
    }
}

/// A document may have come from anywhere: no path is made of its words.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = name.chars().map(plain).take(80).collect();
    if name.is_empty() { String::from("step") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(steps: &str) -> BTreeMap<String, String> {
        let text = format!(
            "{{\"schema\":\"fullpipe.result/1\",\"id\":\"1\",\"method\":\"flow\",\"started\":\"now\",\
             \"across\":\"=cmd()\",\"duration_s\":1.5,\"labels\":{{\"site\":\"A, B\"}},\
             \"verdict\":{{\"status\":\"info\"}},\"steps\":{steps}}}"
        );
        csv(&Stored::read(text).unwrap()).into_iter().collect()
    }

    #[test]
    fn a_step_is_a_row_of_its_kind_and_a_slot_is_a_row_with_its_step() {
        let found = tables(
            r#"[{"name":"tcp","direction":"upload","rate":1,"rates":{"l1_bps":2},
                 "series":[{"t_s":0.5,"sent_bytes":7},{"t_s":0.75,"sent_bytes":null}]},
                {"name":"tcp","rate":-2.50,"more":true}]"#,
        );
        assert_eq!(
            found["tcp.csv"],
            "step,name,direction,rate,rates_l1_bps,more\n0,tcp,upload,1,2,\n1,tcp,,-2.5,,true\n"
        );
        assert_eq!(
            found["series.csv"],
            "step,name,direction,place,t_s,sent_bytes\n0,tcp,upload,0,0.5,7\n0,tcp,upload,1,0.75,\n"
        );
    }

    #[test]
    fn lists_in_lists_keep_the_numbers_of_both() {
        let found = tables(
            r#"[{"name":"q","classes":[{"hunt":{"trials":[{"n":4},{"n":5}]}}],"means":[1.5]}]"#,
        );
        assert_eq!(found["q_classes_hunt_trials.csv"], "step,place,place_2,n\n0,0,0,4\n0,0,1,5\n");
        assert_eq!(found["q_means.csv"], "step,place,value\n0,0,1.5\n");
    }

    #[test]
    fn what_a_spreadsheet_would_compute_is_text() {
        let found = tables("[]");
        assert_eq!(
            found["run.csv"],
            "id,method,started,duration_s,across,verdict,site\n1,flow,now,1.5,'=cmd(),info,\"A, B\"\n"
        );
    }

    #[test]
    fn a_name_of_a_step_is_no_path() {
        assert_eq!(file_name("../../etc/passwd"), "______etc_passwd");
        assert_eq!(file_name(""), "step");
    }
}
