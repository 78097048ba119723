//! The tables of flows: what TCP and UDP carried, what became of packets and connections, rates by layer.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use fp_model::figure::{Part, Row, Shown, Table, Unit, unknown};

use crate::grouped;

const FLOW: Shown = Shown::Field("flow");
const DIRECTION: Shown = Shown::Field("direction");
const SENT: Shown = Shown::Field("sent_payload_bytes");
const RATE_SENT: Shown = Shown::Figure("rate sent (l4)", |row| {
    row.part("sent_rates").map_or_else(String::new, |rates| rates.shown("l4_bps"))
});
const RECEIVED: Shown = Shown::Field("payload_bytes");
const RATE_RECEIVED: Shown = Shown::Field("rate_bps");

pub(super) static TCP: Table = Table {
    caption: |_| "TCP".into(),
    rows: |row| row.when(row.word("transport") == "tcp"),
    columns: &[
        FLOW,
        DIRECTION,
        SENT,
        RATE_SENT,
        RECEIVED,
        RATE_RECEIVED,
        Shown::Field("retransmitted_bytes"),
        Shown::Field("rtt_mean_ms"),
        Shown::Result,
    ],
    note: |_| String::new(),
};

pub(super) static UDP: Table = Table {
    caption: |_| "UDP".into(),
    rows: |row| row.when(row.word("transport") == "udp"),
    columns: &[
        FLOW,
        DIRECTION,
        Shown::Field("sent_packets"),
        Shown::As("packets", "received"),
        Shown::Field("loss_percent"),
        RATE_SENT,
        RATE_RECEIVED,
        RECEIVED,
        Shown::Result,
    ],
    note: |_| {
        "Lost: sent and not received; what this host could not send is not counted as lost.".into()
    },
};

pub(super) static BOTH: Table = Table {
    caption: |_| "TCP and UDP together".into(),
    rows: |row| row.when(row.word("transport").is_empty()),
    columns: &[FLOW, DIRECTION, SENT, RATE_SENT, RECEIVED, RATE_RECEIVED, Shown::Result],
    note: |_| String::new(),
};

pub(super) static TCP_MORE: Table = Table {
    caption: |_| "TCP: connections".into(),
    rows: |row| row.when(row.word("transport") == "tcp" && !row.parts("connections").is_empty()),
    columns: &[
        FLOW,
        DIRECTION,
        Shown::Field("streams"),
        Shown::Figure("each (l4)", each),
        Shown::Words("TCP", |row| match row.word("engine") {
            "user" => "fullpipe's own".into(),
            other => other.into(),
        }),
        Shown::Words("control", |row| first(row, |each| each.word("congestion_control").into())),
        Shown::Figure("window", |row| {
            first(row, |each| each.shown_as(Unit::Amount, "window_effective_bytes"))
        }),
        Shown::Figure("MSS", |row| first(row, |each| each.shown("mss_bytes"))),
        Shown::Words("DSCP", marking),
    ],
    note: |_| "Control, window and MSS are those of the first connection of a flow.".into(),
};

/// From the slowest connection to the fastest.
fn each(row: &Row) -> String {
    let rates = row.parts("connections").iter();
    let rates: Vec<f64> = rates.filter_map(|each| each.estimate("throughput_bps")).collect();
    let least = rates.iter().copied().reduce(f64::min);
    let most = rates.iter().copied().reduce(f64::max);
    match least.zip(most) {
        Some((least, most)) if least < most => Unit::Rate.ends(least, most),
        Some((rate, _)) => Unit::Rate.shown(rate),
        None => String::new(),
    }
}

/// Nothing of several flows in sum.
fn first(row: &Row, text: fn(&Part) -> String) -> String {
    let connection = row.parts("connections").first().filter(|_| row.word("part") == "flow");
    connection.map_or_else(String::new, text)
}

pub(super) static UDP_MORE: Table = Table {
    caption: |_| "UDP: delay, order and marks".into(),
    rows: |row| row.when(row.word("transport") == "udp"),
    columns: &[
        FLOW,
        DIRECTION,
        Shown::As("sent_payload_bytes", "payload sent"),
        Shown::Field("jitter_us"),
        Shown::Figure("delay one way", delay),
        Shown::Field("out_of_order"),
        Shown::Field("duplicates"),
        Shown::Field("corrupt"),
        Shown::Field("unsent"),
        Shown::Words("DSCP", marking),
    ],
    note: |_| "Jitter by RFC 3550. DSCP: as sent and as arrived.".into(),
};

/// With what is not known of the two clocks.
fn delay(row: &Row) -> String {
    let Some(delay) = row.part("one_way_delay") else { return unknown() };
    let [mean, error] = ["mean_us", "error_us"].map(|field| delay.number(field));
    match mean.zip(error) {
        Some((mean, error)) if mean.value >= error.value => {
            format!("{} ± {}", delay.shown("mean_us"), delay.shown("error_us"))
        }
        _ => delay.one_way("mean_us", "error_us"),
    }
}

/// What packets were sent with and what they arrived with; nothing of several flows in sum.
fn marking(row: &Row) -> String {
    let point =
        |part: &Part| part.number("dscp").map_or_else(|| "?".into(), |dscp| dscp.value.to_string());
    let arrived = match row.parts("dscp_received_packets") {
        [] => "?".into(),
        [only] => point(only),
        several => {
            let count = |part: &Part| {
                let packets = part.number("packets").map_or(0.0, |packets| packets.value);
                format!("{} ({})", point(part), grouped(packets as u64))
            };
            several.iter().map(count).collect::<Vec<_>>().join(" ")
        }
    };
    match row.number("dscp_sent").filter(|_| row.word("part") != "sum") {
        Some(sent) if sent.value == 0.0 && arrived == "?" => String::new(),
        Some(sent) => format!("{} → {arrived}", sent.value),
        None => String::new(),
    }
}

pub(super) static BY_LAYER: Table = Table {
    caption: |_| "Received, by layer (Mbit/s)".into(),
    rows: Row::alone,
    columns: &[
        FLOW,
        DIRECTION,
        Shown::Figure("line (l1)", |row| mbps(row, "l1_bps")),
        Shown::Figure("frames (l2)", |row| mbps(row, "l2_bps")),
        Shown::Figure("IP packets (l3)", |row| mbps(row, "l3_bps")),
        Shown::Figure("payload (l4)", |row| mbps(row, "l4_bps")),
        Shown::Field("link_usage_percent"),
        Shown::Field("link_usage_l1_percent"),
    ],
    note: |_| String::new(),
};

fn mbps(row: &Row, field: &str) -> String {
    let rate = row.part("received_rates").and_then(|rates| rates.number(field));
    rate.map_or_else(unknown, |rate| format!("{:.2}", rate.value / 1e6))
}
