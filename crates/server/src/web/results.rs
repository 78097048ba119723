//! What was measured before: lists, documents, certificates, comparisons.

use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use fp_history::{Entry, Filter, History, LABELS};
use fp_model::figure::Headline;
use fp_report::{Comparison, Page, Paper, Stored};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

use super::House;
use super::program::Program;
use super::refusal::{Refusal, Refused};

/// Of a list, unless more are asked for.
const LIMIT: usize = 50;
/// And at most.
const LIMIT_MAX: usize = 1000;
/// Values in the course of a figure.
const COURSE_MAX: usize = 24;
/// A certificate brings its own style, and nothing that acts.
const DOCUMENT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
    font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

pub(super) fn routes() -> Router<House> {
    Router::new()
        .route("/results", get(list))
        .route("/results/{id}", get(one))
        .route("/results/{id}/{document}", get(document))
        .route("/compare", get(compare))
        .route("/compare.html", get(compare_page))
}

/// Which results are wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    method: Option<String>,
    /// A part of the far end's or the network's name.
    across: Option<String>,
    verdict: Option<String>,
    /// RFC 3339, UTC, or its beginning.
    since: Option<String>,
    /// RFC 3339, UTC; not itself.
    until: Option<String>,
    site: Option<String>,
    circuit: Option<String>,
    technician: Option<String>,
    order: Option<String>,
    label: Option<String>,
    limit: Option<usize>,
    offset: Option<usize>,
}

/// A page of the history.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Results {
    /// That meet the conditions, on this page or not.
    count: u64,
    results: Vec<ResultHead>,
}

/// A result in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ResultHead {
    id: String,
    started: String,
    method: String,
    across: String,
    verdict: String,
    duration_s: f64,
    figure: Option<Figure>,
    /// The same figure of runs of the same before it, itself the last.
    course: Vec<f64>,
    labels: BTreeMap<&'static str, Option<String>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Figure {
    name: String,
    value: f64,
    unit: String,
    /// In the unit that suits it.
    shown: String,
}

impl Wanted {
    fn filter(&self) -> Filter {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let labels = [&self.site, &self.circuit, &self.technician, &self.order, &self.label];
        Filter {
            method: given(&self.method),
            far: given(&self.across),
            verdict: given(&self.verdict),
            since: given(&self.since),
            until: given(&self.until),
            labels: labels.map(given),
        }
    }
}

/// Reads files, which may take its time, beside everything else.
pub(super) async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Refusal::not_done(error.to_string()))?
}

pub(super) fn history(program: &Program) -> Result<Option<History>, Refusal> {
    match &program.history {
        Some(folder) => Ok(History::open_if_there(folder)?),
        None => Ok(None),
    }
}

/// The result that `name` stands for: an id, as much of its beginning as is enough, or `last`.
pub(super) fn stored(program: &Program, name: &str) -> Result<Stored, Refusal> {
    let Some(history) = history(program)? else { return Err(fp_history::Error::Empty.into()) };
    let entry = history.find(name)?;
    let text = String::from_utf8(history.document(&entry.id)?)
        .map_err(|_| Refusal::not_done(format!("the run {} is no text", entry.id)))?;
    Stored::read(text).map_err(|error| Refusal::not_done(format!("the run {} {error}", entry.id)))
}

/// Works on a stored result, beside everything else.
pub(super) async fn with_stored<T: Send + 'static>(
    house: House,
    name: String,
    work: impl FnOnce(&Stored) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    beside(move || work(&stored(&house.program, &name)?)).await
}

/// What was measured before, newest first.
#[utoipa::path(get, path = "/api/v1/results", params(Wanted),
    responses((status = 200, body = Results)))]
pub(super) async fn list(
    State(house): State<House>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Results>, Refusal> {
    let page = beside(move || {
        let Some(history) = history(&house.program)? else {
            return Ok(Results { count: 0, results: Vec::new() });
        };
        let filter = wanted.filter();
        let (offset, limit) =
            (wanted.offset.unwrap_or(0), wanted.limit.unwrap_or(LIMIT).min(LIMIT_MAX));
        let entries = history.latest(&filter, offset.saturating_add(limit))?;
        let heads = entries.into_iter().skip(offset).map(|entry| head(&history, entry));
        Ok(Results { count: history.count(&filter)?, results: heads.collect::<Result<_, _>>()? })
    });
    Ok(Json(page.await?))
}

fn head(history: &History, entry: Entry) -> Result<ResultHead, Refusal> {
    let course = history.course(&entry, COURSE_MAX)?;
    let figure = entry.figure.map(|figure| {
        let fp_history::Figure { name, value, unit } = figure;
        let shown = Headline { name: name.clone(), value, unit: unit.clone() }.shown();
        Figure { name, value, unit, shown }
    });
    Ok(ResultHead {
        id: entry.id,
        started: entry.started,
        method: entry.method,
        across: entry.far,
        verdict: entry.verdict,
        duration_s: entry.duration_s,
        figure,
        course,
        labels: LABELS.into_iter().zip(entry.labels).collect(),
    })
}

/// How a result is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct Shown {
    /// With the raw evidence, which may be long.
    #[serde(default)]
    evidence: u8,
    /// 0 leaves out the series of the steps, of which the counters are a shorter form.
    #[serde(default = "one_by_default")]
    series: u8,
    /// 1 adds the parts of the certificate with final texts: `sentence` and `reasons`, `facts`, `asked`, and
    /// as facts, tables and charts `blocks`, what was found, and `how` it was measured.
    #[serde(default)]
    blocks: u8,
}

const fn one_by_default() -> u8 {
    1
}

/// A result document (`fullpipe.result/1`).
#[utoipa::path(get, path = "/api/v1/results/{id}", params(("id" = String, Path), Shown),
    responses((status = 200, body = Object), (status = 404, body = Refused)))]
pub(super) async fn one(
    State(house): State<House>,
    Path(id): Path<String>,
    Query(shown): Query<Shown>,
) -> Result<Json<Value>, Refusal> {
    Ok(Json(with_stored(house, id, move |stored| Ok(wanted(stored, &shown))).await?))
}

/// A result document, with its blocks if they are wanted.
fn wanted(stored: &Stored, shown: &Shown) -> Value {
    let mut document = part(stored.value(), shown);
    if shown.blocks != 0
        && let (Some(all), Value::Object(parts)) =
            (document.as_object_mut(), json!(Page::of(stored)))
    {
        all.extend(parts);
    }
    document
}

/// As much of a result document as is wanted.
fn part(document: &Value, shown: &Shown) -> Value {
    let fields = document.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| shown.evidence != 0 || *name != "evidence");
    let kept = |(name, value): (&String, &Value)| {
        let value = match value.as_array() {
            Some(steps) if name == "steps" && shown.series == 0 => {
                steps.iter().map(without_series).collect()
            }
            _ => value.clone(),
        };
        (name.clone(), value)
    };
    Value::Object(fields.map(kept).collect())
}

fn without_series(step: &Value) -> Value {
    let fields = step.as_object().into_iter().flatten().filter(|(name, _)| *name != "series");
    Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// What a certificate is to be printed on.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct Printed {
    /// `a4` or `letter`.
    paper: Option<String>,
}

/// A document made of a result: certificate.html, certificate.pdf, certificate.md, junit.xml,
/// result.json, or a table such as series.csv.
#[utoipa::path(get, path = "/api/v1/results/{id}/{document}",
    params(("id" = String, Path), ("document" = String, Path), Printed),
    responses((status = 200), (status = 404, body = Refused)))]
pub(super) async fn document(
    State(house): State<House>,
    Path((id, name)): Path<(String, String)>,
    Query(printed): Query<Printed>,
) -> Result<Response, Refusal> {
    let paper = match printed.paper.as_deref() {
        None | Some("a4") => Paper::A4,
        Some("letter") => Paper::Letter,
        Some(other) => {
            return Err(Refusal::bad_input(format!("no paper is `{other}`: a4 and letter are")));
        }
    };
    with_stored(house, id, move |stored| made(stored, &name, paper)).await
}

fn made(stored: &Stored, name: &str, paper: Paper) -> Result<Response, Refusal> {
    let certificate = || fp_report::certificate(stored, &stored.labels());
    let (kind, bytes): (_, Vec<u8>) = match name {
        "certificate.html" => return Ok(html(fp_report::html(&certificate()))),
        "certificate.pdf" => {
            let made = fp_report::pdf(&certificate(), paper);
            ("application/pdf", made.map_err(|error| Refusal::not_done(error.to_string()))?.bytes)
        }
        "certificate.md" => {
            ("text/markdown; charset=utf-8", fp_report::markdown(&certificate()).into())
        }
        "junit.xml" => {
            let made = fp_report::junit(stored);
            ("application/xml", made.map_err(|error| Refusal::not_done(error.to_string()))?.into())
        }
        "result.json" => ("application/json", stored.text().into()),
        table => {
            let found = fp_report::csv(stored).into_iter().find(|(name, _)| name == table);
            let (_, text) = found.ok_or_else(|| {
                Refusal::unknown(format!("no document of this result is `{table}`"))
            })?;
            ("text/csv; charset=utf-8", text.into())
        }
    };
    let place = format!("inline; filename=\"fullpipe-{}-{name}\"", stored.id());
    Ok(([(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, place)], bytes)
        .into_response())
}

fn html(text: String) -> Response {
    let fields = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, DOCUMENT_POLICY),
    ];
    (fields, text).into_response()
}

/// Two results of one method.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    first: String,
    second: String,
}

/// What changed from one result to another, and whether beyond the noise; `blocks` has it as facts, tables and
/// charts with final texts.
#[utoipa::path(get, path = "/api/v1/compare", params(Pair),
    responses((status = 200, body = Object), (status = 422, body = Refused)))]
pub(super) async fn compare(
    State(house): State<House>,
    Query(pair): Query<Pair>,
) -> Result<Json<Value>, Refusal> {
    let with_blocks = |comparison: &Comparison<'_>| {
        let mut document = comparison.json();
        document["blocks"] = json!(comparison.document().blocks);
        document
    };
    compared(house, pair, with_blocks).await.map(Json)
}

/// The same as a page of its own.
#[utoipa::path(get, path = "/api/v1/compare.html", params(Pair), responses((status = 200)))]
pub(super) async fn compare_page(
    State(house): State<House>,
    Query(pair): Query<Pair>,
) -> Result<Response, Refusal> {
    compared(house, pair, |comparison| fp_report::html(&comparison.document())).await.map(html)
}

async fn compared<T: Send + 'static>(
    house: House,
    pair: Pair,
    shown: fn(&Comparison<'_>) -> T,
) -> Result<T, Refusal> {
    beside(move || {
        let program = &house.program;
        let (first, second) = (stored(program, &pair.first)?, stored(program, &pair.second)?);
        let repeats = (program.repeats)(&first, &second);
        fp_report::compare(&first, &second, &repeats)
            .map(|comparison| shown(&comparison))
            .map_err(|error| Refusal::bad_input(error.to_string()))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_document_as_much_is_shown_as_is_wanted() {
        let document = json!({"id": "a", "steps": [{"n": 1, "series": [2]}], "evidence": [3]});
        let shown = |evidence, series| part(&document, &Shown { evidence, series, blocks: 0 });
        assert_eq!(shown(1, 1), document);
        assert_eq!(shown(0, 1), json!({"id": "a", "steps": [{"n": 1, "series": [2]}]}));
        assert_eq!(shown(0, 0), json!({"id": "a", "steps": [{"n": 1}]}));
    }

    /// A recorded result, as the page asks for it.
    fn recorded(name: &str) -> Value {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/evidence");
        let packed = std::fs::read(format!("{folder}/{name}.json.zz")).unwrap();
        let bytes = miniz_oxide::inflate::decompress_to_vec_zlib(&packed).unwrap();
        let stored = Stored::read(String::from_utf8(bytes).unwrap()).unwrap();
        wanted(&stored, &Shown { evidence: 0, series: 0, blocks: 1 })
    }

    /// The texts below a head of the table of this caption.
    fn column(result: &Value, caption: &str, head: &str) -> Vec<String> {
        let blocks = result["blocks"].as_array().unwrap();
        let mut tables = blocks.iter().map(|block| &block["table"]);
        let table = tables.find(|table| table["caption"] == caption).unwrap();
        let columns = table["columns"].as_array().unwrap();
        let place = columns.iter().position(|column| column["head"] == head).unwrap();
        let text = |row: &Value| row[place]["text"].as_str().unwrap().to_owned();
        table["rows"].as_array().unwrap().iter().map(text).collect()
    }

    #[test]
    fn a_sound_window_walk_is_shown_as_all_of_what_its_windows_allow() {
        const WALK: &str = "Window walk, bulk sender, cubic";
        let result = recorded("rfc6349-sim");
        let windows = column(&result, WALK, "window");
        assert_eq!(windows, ["25 %", "50 %", "75 %", "100 %"].repeat(2));
        let shares = column(&result, WALK, "share");
        assert_eq!(shares.len(), windows.len());
        for share in &shares {
            let percent: f64 = share.trim_end_matches(" %").parse().unwrap();
            assert!((95.0..=101.0).contains(&percent), "{shares:?}");
        }
    }

    #[test]
    fn blocks_are_facts_tables_charts_and_texts_for_every_method() {
        let results = [
            "rfc6349-sim",
            "burst-sim",
            "rfc2544-sim",
            "y1564-sim",
            "rfc7640-sim",
            "flow-classes-sim",
            "stress-sim",
        ];
        for name in results {
            let result = recorded(name);
            let blocks = result["blocks"].as_array().unwrap();
            let kinds: Vec<&str> = blocks
                .iter()
                .flat_map(|block| block.as_object().unwrap().keys())
                .map(String::as_str)
                .collect();
            assert!(kinds.contains(&"table"), "{name}: {kinds:?}");
            let known = ["facts", "table", "figures", "text"];
            assert!(kinds.iter().all(|kind| known.contains(kind)), "{name}: {kinds:?}");
            let figures = blocks.iter().filter_map(|block| block["figures"].as_array()).flatten();
            for figure in figures {
                let svg = figure["svg"].as_str().unwrap();
                assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>"), "{name}: {svg}");
            }
        }
    }
}
