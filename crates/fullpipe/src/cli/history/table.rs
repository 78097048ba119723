//! The history as a table.

use fp_history::Entry;
use fp_method::verdict::Status;
use fp_model::figure::Headline;
use fp_report::{shortened, sparkline};

use super::super::keep::short;
use super::Row;

const HEAD: [&str; 8] =
    ["id", "started (UTC)", "method", "across", "verdict", "main figure", "", "course"];
/// Columns whose cells stand at the right.
const RIGHT: [usize; 1] = [6];
/// A name that is longer is cut: the table stays a table.
const CELL_MAX: usize = 40;
/// On a narrow terminal the names of figures are cut, and then those of paths, to no less than this.
const CUT: [usize; 2] = [5, 3];
const CUT_LEAST: usize = 8;

/// The table, and how much of the history it is.
pub(super) fn text(rows: &[Row], count: u64, is_filtered: bool, columns: Option<usize>) -> String {
    if rows.is_empty() {
        return String::from(match (count, is_filtered) {
            (0, false) => "nothing was measured yet, or nothing was kept\n",
            (0, true) => "no run meets these conditions\n",
            _ => "",
        });
    }
    let has_labels = rows.iter().any(|row| row.entry.labels.iter().any(Option::is_some));
    let mut lines = vec![HEAD.map(String::from).to_vec()];
    lines.extend(rows.iter().map(cells));
    if has_labels {
        lines[0].push(String::from("labels"));
        lines.iter_mut().skip(1).zip(rows).for_each(|(line, row)| line.push(labels(&row.entry)));
    }
    // Of runs across different paths there is no course.
    let course = HEAD.len() - 1;
    if lines.iter().skip(1).all(|line| line[course].is_empty()) {
        lines.iter_mut().for_each(|line| drop(line.remove(course)));
    }
    let mut out = aligned(&mut lines, columns);
    if (rows.len() as u64) < count {
        out.push_str(&format!("the newest {} of {count} runs: --limit shows more\n", rows.len()));
    }
    out
}

fn cells(Row { entry, course }: &Row) -> Vec<String> {
    let figure = entry.figure.as_ref();
    let figure = figure.map(|of| Headline::new(of.name.clone(), of.value, &of.unit));
    let (name, value) = match &figure {
        Some(figure) => (figure.name.clone(), figure.shown()),
        None => (String::from("–"), String::new()),
    };
    // To the minute.
    let started = entry.started.get(..16).unwrap_or(&entry.started).replace('T', " ");
    // What somebody has to look at stands out.
    let verdict = match Status::named(&entry.verdict) {
        None | Some(Status::Pass | Status::Info) => entry.verdict.clone(),
        Some(status) => status.name().to_uppercase(),
    };
    let texts = [short(&entry.id), &started, &entry.method, &entry.far, &verdict, &name, &value];
    let mut cells: Vec<String> = texts.map(plain).to_vec();
    // A single value has no course.
    cells.push(if course.len() > 1 { sparkline(course) } else { String::new() });
    cells
}

fn labels(entry: &Entry) -> String {
    let known: Vec<&str> = entry.labels.iter().flatten().map(String::as_str).collect();
    plain(&known.join(", "))
}

/// A file may have come from anywhere: what steers a terminal is not passed on.
fn plain(text: &str) -> String {
    shortened(&text.replace(char::is_control, "\u{FFFD}"), CELL_MAX)
}

fn aligned(lines: &mut [Vec<String>], known: Option<usize>) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max()
    };
    let mut widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for column in CUT {
        let wide = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        let over = known.map_or(0, |known| wide.saturating_sub(known));
        let width = widths[column].saturating_sub(over).max(CUT_LEAST.min(widths[column]));
        widths[column] = width;
        for line in &mut *lines {
            line[column] = shortened(&line[column], width);
        }
    }
    let mut out = String::new();
    for line in lines {
        let cells = line.iter().enumerate().map(|(column, cell)| {
            let width = widths[column];
            if RIGHT.contains(&column) {
                format!("{cell:>width$}")
            } else {
                format!("{cell:width$}")
            }
        });
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use fp_history::Figure;

    use super::*;

    fn row(far: &str, bps: f64, course: &[f64]) -> Row {
        let figure =
            Figure { name: "UDP payload (l4), upload".into(), value: bps, unit: "bit/s".into() };
        Row {
            entry: Entry {
                id: "0123456789abcdef".into(),
                started: "2026-11-22T07:12:30Z".into(),
                method: "flow".into(),
                far: far.into(),
                verdict: "fail".into(),
                duration_s: 1.0,
                figure: Some(figure),
                ..Entry::default()
            },
            course: course.to_vec(),
        }
    }

    #[test]
    fn figures_stand_below_each_other_and_the_course_beside_them() {
        let rows = [row("lab ideal", 95e6, &[10e6, 95e6]), row("far", 9e6, &[9e6])];
        let text = text(&rows, 5, false, None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1],
            "0123456789  2026-11-22 07:12  flow    lab ideal  FAIL     UDP payload (l4), upload  95.00 Mbit/s  ▁█"
        );
        assert!(lines[2].ends_with("   9.00 Mbit/s"), "{text}");
        assert_eq!(lines[3], "the newest 2 of 5 runs: --limit shows more");
    }

    #[test]
    fn no_row_is_wider_than_the_terminal_and_runs_without_a_course_have_no_column_for_it() {
        for columns in [100, 80] {
            let text = text(&[row("lab metro-40m-cbs64k", 9e6, &[9e6])], 1, false, Some(columns));
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
            assert!(text.contains("9.00 Mbit/s\n") && !text.contains("course"), "{text}");
        }
    }

    #[test]
    fn what_would_steer_a_terminal_is_shown_as_what_it_is_not() {
        let text = text(&[row("\u{1b}[2Jgone", 1.0, &[1.0])], 1, false, None);
        assert!(text.contains("\u{fffd}[2Jgone") && !text.contains('\u{1b}'));
    }
}
