//! What a run of very many connections found, and how documents have it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use fp_model::figure::{
    Active, Better, Block, CONNECTIONS_SLOT, Cell, Chart, Column, Info, Kind, Part, Row, Shown,
    Steps, Table, Unit, and, infos,
};
use fp_model::{
    ConnectionsReport, Direction, FailedConnections, Family, FirstFailure, HeldConnections, Rate,
    RetransmittedSegments, StoppedConnections, TcpStates, TimeSummary,
};

use super::limit::Limit;
use crate::{metric, verdict};

/// Steps, verdict, self-checks and remarks of a run.
pub type Report = verdict::Report<Step>;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Stress(StressStep),
}

impl Step {
    /// As documents have it.
    pub fn row(&self) -> Row {
        match self {
            Self::Stress(step) => STRESS.row(step),
        }
    }
}

/// How the connections fared.
#[derive(Clone, Debug, PartialEq)]
pub struct StressStep {
    pub direction: Direction,
    pub family: Family,
    /// Largest number of connections that a stage asks for.
    pub connections_target: u32,
    /// Payload received, in both directions together.
    pub good_bytes: u64,
    /// Its rate over the time of all stages, or until the run was stopped.
    pub throughput_l4: Rate,
    /// Where the number of connections stopped growing, if it did below the target.
    pub limit: Option<Limit>,
    pub counted: ConnectionsReport,
}

impl StressStep {
    /// Failed connections in percent of those asked for.
    pub fn failed_percent(&self) -> f64 {
        100.0 * self.counted.failed.total() as f64 / self.counted.attempted.max(1) as f64
    }

    pub const fn is_reached(&self) -> bool {
        self.counted.active_peak >= self.connections_target
    }
}

pub static STRESS: Steps<StressStep> = Steps {
    kind: Kind {
        name: "stress",
        title: "stress",
        is_judged: true,
        main: &["connections_peak"],
        columns: &infos(COLUMNS),
        facts,
        blocks: &[Block::Chart(Chart::Active(ACTIVE)), Block::Table(&TIMES)],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<StressStep>; 34] = &[
    Info::new("direction", "direction", Unit::Word).of(|step| step.direction.name().into()),
    Info::new("family", "family", Unit::Word).of(|step| step.family.name().into()),
    Info::new("connections_target", "asked for at once", Unit::Count)
        .of(|step| step.connections_target.into()),
    Info::new("connections_peak", "connections at once", Unit::Count)
        .better(Better::Higher)
        .metric(metric::CONNECTIONS)
        .of(|step| step.counted.active_peak.into()),
    Info::new("connections_at_end", "open at the end", Unit::Count)
        .of(|step| step.counted.active_at_end.into()),
    Info::new("held", "held", Unit::Part(HELD))
        .of(|step| part(HELD, HELD_OF, step.counted.held.as_ref())),
    Info::new("limit", "limit", Unit::Part(LIMIT))
        .of(|step| part(LIMIT, LIMIT_OF, step.limit.as_ref())),
    Info::new("setup_rate_cps_peak", "set up in the best second", Unit::Count)
        .better(Better::Higher)
        .metric(metric::CONNECTIONS_PER_SECOND)
        .of(|step| step.counted.setup_rate_peak.into()),
    Info::new("attempted", "asked for", Unit::Count).of(|step| step.counted.attempted.into()),
    Info::new("established", "established", Unit::Count).of(|step| step.counted.established.into()),
    Info::new("closed", "closed", Unit::Count).of(|step| step.counted.closed.into()),
    Info::new("given_up", "given up at the end", Unit::Count)
        .of(|step| step.counted.given_up.into()),
    Info::new("failed", "failed", Unit::Part(FAILED))
        .of(|step| part(FAILED, FAILED_OF, Some(&step.counted.failed))),
    Info::new("failed_percent", "failed", Unit::Percent(3))
        .better(Better::Lower)
        .of(|step| step.failed_percent().into()),
    Info::new("first_failure", "first failure", Unit::Part(FIRST))
        .of(|step| part(FIRST, FIRST_OF, step.counted.first_failure.as_ref())),
    Info::new("stopped", "stopped", Unit::Part(STOPPED))
        .of(|step| part(STOPPED, STOPPED_OF, step.counted.stopped.as_ref())),
    Info::new("handshake_us", "handshake", Unit::Part(TIME))
        .of(|step| part(TIME, TIME_OF, step.counted.handshake.as_ref())),
    Info::new("rtt_us", "RTT", Unit::Part(TIME))
        .of(|step| part(TIME, TIME_OF, step.counted.rtt.as_ref())),
    Info::new("transaction_us", "transaction", Unit::Part(TIME))
        .of(|step| part(TIME, TIME_OF, step.counted.transaction.as_ref())),
    Info::new("transactions", "transactions", Unit::Count)
        .of(|step| step.counted.transactions.into()),
    Info::new("good_bytes", "payload", Unit::Amount).of(|step| step.good_bytes.into()),
    Info::new("upload_good_bytes", "from clients", Unit::Amount)
        .of(|step| step.counted.upload_good_bytes.into()),
    Info::new("download_good_bytes", "from servers", Unit::Amount)
        .of(|step| step.counted.download_good_bytes.into()),
    Info::new("throughput_bps", "payload (l4)", Unit::Rate)
        .better(Better::Higher)
        .metric(metric::THROUGHPUT_L4)
        .of(|step| step.throughput_l4.into()),
    Info::new("layer", "layer", Unit::Word).of(|_| "l4".into()),
    Info::new("retransmissions", "retransmitted", Unit::Part(AGAIN))
        .of(|step| part(AGAIN, AGAIN_OF, Some(&step.counted.retransmissions))),
    Info::new("duplicate_acks", "duplicate ACKs", Unit::Count)
        .of(|step| step.counted.duplicate_acks.into()),
    Info::new("out_of_order", "out of order", Unit::Count)
        .of(|step| step.counted.out_of_order.into()),
    Info::new("bad_checksums", "with a wrong checksum", Unit::Count)
        .of(|step| step.counted.bad_checksums.into()),
    Info::new("corrupt_payload_bytes", "corrupt payload", Unit::Bytes)
        .of(|step| step.counted.corrupt_payload_bytes.into()),
    Info::new("states", "states", Unit::Part(STATES))
        .of(|step| part(STATES, STATES_OF, Some(&step.counted.states))),
    Info::new("memory_bytes", "memory", Unit::Amount).of(|step| step.counted.bytes_total.into()),
    Info::new("memory_bytes_per_connection", "memory of a connection", Unit::Number(1))
        .of(|step| step.counted.bytes_per_connection.into()),
    Info::new("series", "course", Unit::Series(CONNECTIONS_SLOT))
        .of(|step| step.counted.series.as_slice().into()),
];

fn part<S>(infos: &'static [Info], columns: &[Column<S>], of: Option<&S>) -> Cell {
    of.map(|of| Cell::part(infos, columns, of)).into()
}

static HELD: &[Info] = &infos(HELD_OF);
const HELD_OF: &[Column<HeldConnections>; 3] = &[
    Info::new("wanted", "wanted", Unit::Count).of(|held| held.wanted.into()),
    Info::new("least", "least", Unit::Count).of(|held| held.least.into()),
    Info::new("most", "most", Unit::Count).of(|held| held.most.into()),
];

static LIMIT: &[Info] = &infos(LIMIT_OF);
const LIMIT_OF: &[Column<Limit>; 2] = &[
    Info::new("cause", "cause", Unit::Word).of(|limit| limit.cause.code().into()),
    Info::new("active", "active", Unit::Count).of(|limit| limit.active.into()),
];

static FAILED: &[Info] = &infos(FAILED_OF);
const FAILED_OF: &[Column<FailedConnections>; 5] = &[
    Info::new("no_answer", "not answered", Unit::Count).of(|failed| failed.no_answer.into()),
    Info::new("refused", "refused", Unit::Count).of(|failed| failed.refused.into()),
    Info::new("reset", "reset", Unit::Count).of(|failed| failed.reset.into()),
    Info::new("timed_out", "timed out", Unit::Count).of(|failed| failed.timed_out.into()),
    Info::new("total", "failed", Unit::Count).of(|failed| failed.total().into()),
];

static FIRST: &[Info] = &infos(FIRST_OF);
const FIRST_OF: &[Column<FirstFailure>; 2] = &[
    Info::new("at_s", "at", Unit::Seconds).of(|first| Cell::s(first.at)),
    Info::new("active", "active", Unit::Count).of(|first| first.active.into()),
];

static STOPPED: &[Info] = &infos(STOPPED_OF);
const STOPPED_OF: &[Column<StoppedConnections>; 4] = &[
    Info::new("at_s", "at", Unit::Seconds).of(|stopped| Cell::s(stopped.at)),
    Info::new("until_s", "until", Unit::Seconds).of(|stopped| Cell::s(stopped.until)),
    Info::new("active", "active", Unit::Count).of(|stopped| stopped.active.into()),
    Info::new("abort", "by resets", Unit::Flag).of(|stopped| stopped.is_abort.into()),
];

static TIME: &[Info] = &infos(TIME_OF);
const TIME_OF: &[Column<TimeSummary>; 9] = &[
    Info::new("samples", "samples", Unit::Count).of(|times| times.samples.into()),
    Info::new("min", "min", Unit::Microseconds).of(|times| Cell::us(times.min)),
    Info::new("mean", "mean", Unit::Microseconds).of(|times| Cell::us(times.mean)),
    Info::new("p50", "50 %", Unit::Microseconds).of(|times| Cell::us(times.p50)),
    Info::new("p90", "90 %", Unit::Microseconds).of(|times| Cell::us(times.p90)),
    Info::new("p99", "99 %", Unit::Microseconds)
        .better(Better::Lower)
        .of(|times| Cell::us(times.p99)),
    Info::new("p99_9", "99.9 %", Unit::Microseconds).of(|times| Cell::us(times.p99_9)),
    Info::new("p99_99", "99.99 %", Unit::Microseconds).of(|times| Cell::us(times.p99_99)),
    Info::new("max", "max", Unit::Microseconds).of(|times| Cell::us(times.max)),
];

static AGAIN: &[Info] = &infos(AGAIN_OF);
const AGAIN_OF: &[Column<RetransmittedSegments>; 3] = &[
    Info::new("syn", "SYN retransmitted", Unit::Count).of(|again| again.syn.into()),
    Info::new("timeout", "retransmitted after a timeout", Unit::Count)
        .of(|again| again.timeout.into()),
    Info::new("fast", "fast retransmitted", Unit::Count).of(|again| again.fast.into()),
];

static STATES: &[Info] = &infos(STATES_OF);
const STATES_OF: &[Column<TcpStates>; 9] = &[
    Info::new("syn_sent", "SYN-SENT", Unit::Count).of(|states| states.syn_sent.into()),
    Info::new("syn_received", "SYN-RECEIVED", Unit::Count).of(|states| states.syn_received.into()),
    Info::new("established", "ESTABLISHED", Unit::Count).of(|states| states.established.into()),
    Info::new("fin_wait_1", "FIN-WAIT-1", Unit::Count).of(|states| states.fin_wait_1.into()),
    Info::new("fin_wait_2", "FIN-WAIT-2", Unit::Count).of(|states| states.fin_wait_2.into()),
    Info::new("close_wait", "CLOSE-WAIT", Unit::Count).of(|states| states.close_wait.into()),
    Info::new("closing", "CLOSING", Unit::Count).of(|states| states.closing.into()),
    Info::new("last_ack", "LAST-ACK", Unit::Count).of(|states| states.last_ack.into()),
    Info::new("time_wait", "TIME-WAIT", Unit::Count).of(|states| states.time_wait.into()),
];

fn facts(row: &Row) -> Vec<(&'static str, String)> {
    let peak = format!(
        "{} open at once of {} asked for",
        row.shown("connections_peak"),
        row.shown("connections_target")
    );
    let setup = format!("{} connections/s in the best second", row.shown("setup_rate_cps_peak"));
    let carried = format!(
        "{} from servers, {} from clients, {} (l4)",
        row.shown("download_good_bytes"),
        row.shown("upload_good_bytes"),
        row.shown("throughput_bps")
    );
    let memory = format!(
        "{} at an end, {} B for each that was open",
        row.shown("memory_bytes"),
        row.shown("memory_bytes_per_connection")
    );
    let all = [
        ("connections", Some(peak)),
        ("held", row.part("held").map(held)),
        ("limit", row.part("limit").map(limit)),
        ("stopped", row.part("stopped").map(stopped)),
        ("set up", Some(setup)),
        ("in all", Some(fates(row))),
        ("failed", row.part("failed").and_then(|failed| failures(row, failed))),
        ("carried", Some(carried)),
        ("transactions", Some(row.shown("transactions"))),
        ("segments at both ends", segments(row)),
        ("memory of the tester", Some(memory)),
    ];
    all.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
}

fn held(held: &Part) -> String {
    let [wanted, least, most] = ["wanted", "least", "most"].map(|field| held.shown(field));
    format!("{wanted}: from {least} to {most}")
}

fn limit(limit: &Part) -> String {
    let what = match limit.word("cause") {
        "no_answer" => "new ones were not answered",
        "refused" => "new ones were refused",
        "reset" => "others were reset",
        "timed_out" => "others went silent",
        cause => cause,
    };
    format!("at {} active {what}", limit.shown("active"))
}

fn stopped(stopped: &Part) -> String {
    let how = if stopped.flag("abort") == Some(true) { "reset" } else { "closed" };
    let [at, active, until] = ["at_s", "active", "until_s"].map(|field| stopped.shown(field));
    format!("{at} after the start, with {active} open; {how} by {until}")
}

fn fates(row: &Row) -> String {
    let failed = row.part("failed").map_or_else(String::new, |failed| failed.shown("total"));
    let [attempted, established, closed, given_up] =
        ["attempted", "established", "closed", "given_up"].map(|field| row.shown(field));
    format!(
        "{attempted} asked for, {established} established, {closed} closed, {failed} failed, \
         {given_up} given up at the end"
    )
}

/// By cause, and when the first was.
fn failures(row: &Row, failed: &Part) -> Option<String> {
    failed.number("total").filter(|total| total.value > 0.0)?;
    let by_cause = counted(failed, &["no_answer", "refused", "reset", "timed_out"]);
    let first = row.part("first_failure").map_or_else(String::new, |first| {
        let [at, active] = ["at_s", "active"].map(|field| first.shown(field));
        format!("; the first {at} after the start, with {active} active")
    });
    Some(format!("{}{first}", by_cause.join(", ")))
}

/// At both ends; `None` where nothing was the matter with any.
fn segments(row: &Row) -> Option<String> {
    let again = row.part("retransmissions");
    let mut all = again.map_or_else(Vec::new, |again| counted(again, &["syn", "timeout", "fast"]));
    all.extend(counted(row, &["duplicate_acks", "out_of_order", "bad_checksums"]));
    (!all.is_empty()).then(|| all.join(", "))
}

/// The counts that are not zero, each with its name.
fn counted(part: &Part, fields: &[&str]) -> Vec<String> {
    let is_any = |field: &&&str| part.number(field).is_some_and(|count| count.value > 0.0);
    let text = |field: &&str| format!("{} {}", part.shown(field), part.info(field).name);
    fields.iter().filter(is_any).map(text).collect()
}

static NAMED: &[Info] =
    &and::<_, _, 9, 10>(&[Info::new("time", "time", Unit::Word)], &infos(TIME_OF));

const ACTIVE: Active = Active { caption: "Active connections", target: "connections_target" };

static TIMES: Table = Table {
    caption: |_| "Times".into(),
    rows: |row| {
        let times = |field: &&str| Some(row.inside(NAMED, row.info(field).name, row.part(field)?));
        ["handshake_us", "rtt_us", "transaction_us"].iter().filter_map(times).collect()
    },
    columns: &[
        Shown::Words("time", |row| row.word("time").into()),
        Shown::Field("min"),
        Shown::Field("mean"),
        Shown::Field("p50"),
        Shown::Field("p90"),
        Shown::Field("p99"),
        Shown::Field("p99_9"),
        Shown::Field("p99_99"),
        Shown::Field("max"),
    ],
    note: |_| {
        "Handshake: from the question for a connection to its answer. Transaction: from a request to the last \
         byte of its response. Percentiles are up to 1 % too long."
            .into()
    },
};
