//! From the keys of a flows file to flows that can be planned.

use std::time::Duration;

use fp_model::{
    Direction, Dscp, Ecn, FrameSizes, Layer, LayeredRate, Pace, Rate, parse_rate, parse_size,
};
use serde_saphyr::{Location, Spanned};

use super::KIND;
use super::file::{self, File, Transport};
use super::wanted::{
    CONNECTIONS_MAX, Engine, FLOWS_MAX, Offered, PACKETS_PER_SECOND_MAX, Payloads, Tcp, Traffic,
    Udp, Wanted,
};
use crate::yaml::value::{dscp, duration, positive, size, whole};
use crate::yaml::{OneOrMore, Problem, Text};

const BEGINS_MAX: Duration = Duration::from_secs(86_400);
const RATE_MAX: Rate = Rate::bps(1_000_000_000_000);
/// RFC 7323 section 2.3: the largest window is 65,535 shifted by 14.
const WINDOW_BYTES_MAX: u64 = 1_073_725_440;
const WINDOW_BYTES_MIN: u64 = 1000;
const PAYLOAD_BYTES_MAX: u64 = 9000;

pub(super) fn flows(file: &File, shown: &str) -> Result<Vec<Wanted>, Problem> {
    KIND.check_schema(&file.schema)?;
    let listed = &file.flows.value;
    if listed.is_empty() || listed.len() > FLOWS_MAX {
        let sentence = format!("1 to {FLOWS_MAX} flows are allowed, not {}", listed.len());
        return Err(Problem::with(&file.flows, sentence));
    }
    for (place, each) in listed.iter().enumerate() {
        let name = &each.value.name;
        if name.value.trim().is_empty() {
            return Err(Problem::with(name, "a flow has a name"));
        }
        if listed[..place].iter().any(|other| other.value.name.value == name.value) {
            let sentence = format!("a second flow `{}`: each has a name of its own", name.value);
            return Err(Problem::with(name, sentence));
        }
    }
    listed.iter().map(|flow| wanted(flow, shown)).collect()
}

fn wanted(here: &Spanned<file::Flow>, shown: &str) -> Result<Wanted, Problem> {
    let keys = &here.value;
    let at = here.defined;
    Ok(Wanted {
        name: keys.name.value.clone(),
        class: keys.class.as_ref().map(|class| class.value.clone()),
        directions: match keys.direction {
            Some(file::Direction::Upload) | None => vec![Direction::Upload],
            Some(file::Direction::Download) => vec![Direction::Download],
            Some(file::Direction::Both) => vec![Direction::Upload, Direction::Download],
        },
        family: keys.family,
        dscp: keys.dscp.as_ref().map_or(Ok(Dscp::BEST_EFFORT), dscp)?,
        near_port: keys
            .near_port
            .as_ref()
            .map(|text| whole(text, 1..=65_535).map(|port| port as u16))
            .transpose()?,
        begins: keys
            .begins
            .as_ref()
            .map_or(Ok(Duration::ZERO), |text| duration(text, BEGINS_MAX))?,
        traffic: match keys.transport {
            Some(Transport::Tcp) | None => Traffic::Tcp(tcp(keys)?),
            Some(Transport::Udp) => Traffic::Udp(udp(here)?),
        },
        place: Some(format!("{shown}:{}:{}", at.line().max(1), at.column().max(1))),
    })
}

fn tcp(keys: &file::Flow) -> Result<Tcp, Problem> {
    let texts = [&keys.pps, &keys.imix].into_iter().flatten().map(|text| text.defined);
    let lists = keys.payload.iter().map(|list| list.defined);
    let ecn = keys.ecn.iter().map(|ecn| ecn.defined);
    belongs_not(texts.chain(lists).chain(ecn), "this key belongs to UDP: add `transport: udp`")?;
    let written = keys.rate.as_ref().map(rate).transpose()?;
    if let (Some(text), Some(LayeredRate { layer: Layer::L1 | Layer::L2 | Layer::L3, .. })) =
        (&keys.rate, written)
    {
        return Err(Problem::with(text, "TCP writes payload: its rate is at @l4"));
    }
    Ok(Tcp {
        engine: keys.engine.as_ref().map_or(Engine::Kernel, |engine| engine.value),
        connections: streams(keys, CONNECTIONS_MAX.into())?,
        window_bytes: keys.window.as_ref().map(window).transpose()?,
        mss_bytes: keys
            .mss
            .as_ref()
            .map(|text| whole(text, 88..=9000).map(|bytes| bytes as u32))
            .transpose()?,
        congestion_control: keys.congestion.as_ref().map(|congestion| congestion.value),
        pacing: keys.pacing.as_ref().map(|text| rate(text).map(|rate| rate.rate)).transpose()?,
        pace: written.map_or(Pace::Unlimited, |rate| Pace::Constant { rate: rate.rate }),
        bytes: keys
            .bytes
            .as_ref()
            .map(|text| positive(text, |text| size(text, 1 << 50)))
            .transpose()?,
        write_bytes: keys
            .write
            .as_ref()
            .map(|text| positive(text, |text| size(text, 1 << 20)).map(|bytes| bytes as u32))
            .transpose()?,
    })
}

fn udp(here: &Spanned<file::Flow>) -> Result<Udp, Problem> {
    let keys = &here.value;
    let only_tcp = [&keys.window, &keys.mss, &keys.pacing, &keys.bytes, &keys.write];
    let texts = only_tcp.into_iter().flatten();
    let congestion = keys.congestion.iter().map(|congestion| congestion.defined);
    let engine = keys.engine.iter().map(|engine| engine.defined);
    let only_tcp = texts.map(|text| text.defined).chain(congestion).chain(engine);
    belongs_not(only_tcp, "this key belongs to TCP: leave out `transport: udp`, or the key")?;
    let offered = match (&keys.rate, &keys.pps) {
        (Some(text), None) => Offered::Rate(rate(text)?),
        (None, Some(text)) => {
            let packets = parse_size(&text.value).ok();
            let packets = packets.filter(|count| (1..=PACKETS_PER_SECOND_MAX).contains(count));
            Offered::PacketsPerSecond(packets.ok_or_else(|| {
                let sentence = format!(
                    "`{}`: packets per second are from 1 to {PACKETS_PER_SECOND_MAX}, such as 50k",
                    text.value
                );
                Problem::with(text, sentence)
            })?)
        }
        (Some(_), Some(text)) => {
            return Err(Problem::with(text, "a flow has a rate or pps, not both"));
        }
        (None, None) => {
            let sentence =
                "a UDP flow needs `rate: 10M` (payload; 10M@l1 on the line) or `pps: 50`";
            return Err(Problem::with(here, sentence));
        }
    };
    Ok(Udp {
        streams: streams(keys, FLOWS_MAX as u64)?,
        payloads: payloads(keys)?,
        offered,
        ecn: match keys.ecn.as_ref().map(|ecn| ecn.value) {
            Some(file::Ecn::Ect0) => Ecn::Ect0,
            Some(file::Ecn::Ect1) => Ecn::Ect1,
            None => Ecn::NotEct,
        },
    })
}

fn belongs_not(places: impl Iterator<Item = Location>, sentence: &str) -> Result<(), Problem> {
    match places.into_iter().next() {
        Some(defined) => {
            Err(Problem::with(&Spanned { value: (), referenced: defined, defined }, sentence))
        }
        None => Ok(()),
    }
}

fn streams(keys: &file::Flow, most: u64) -> Result<u32, Problem> {
    keys.streams.as_ref().map_or(Ok(1), |text| whole(text, 1..=most)).map(|count| count as u32)
}

fn window(text: &Text) -> Result<u64, Problem> {
    match size(text, WINDOW_BYTES_MAX)? {
        bytes if bytes < WINDOW_BYTES_MIN => {
            Err(Problem::with(text, format!("a window has at least {WINDOW_BYTES_MIN} bytes")))
        }
        bytes => Ok(bytes),
    }
}

/// A rate of payload unless it names its layer.
fn rate(text: &Text) -> Result<LayeredRate, Problem> {
    let written = text.value.trim();
    let (rate, layer) = parse_rate(written)
        .map_err(|error| Problem::with(text, format!("`{written}`: {error}")))?;
    if rate == Rate::ZERO || rate > RATE_MAX {
        return Err(Problem::with(text, format!("`{written}`: more than zero and at most 1T")));
    }
    Ok(LayeredRate { rate, layer: layer.unwrap_or(Layer::L4) })
}

fn payloads(keys: &file::Flow) -> Result<Payloads, Problem> {
    match (&keys.payload, &keys.imix) {
        (None, None) => Ok(Payloads::Longest),
        (None, Some(name)) if name.value.trim() == "simple" => Ok(Payloads::SimpleImix),
        (None, Some(letters)) => Ok(Payloads::Imix(letters.value.trim().to_owned())),
        (Some(_), Some(text)) => {
            Err(Problem::with(text, "a flow has a payload or an imix, not both"))
        }
        (Some(list), None) => {
            let each = OneOrMore::elements(list);
            if each.is_empty() || each.len() > FrameSizes::LENGTHS_MAX {
                let sentence = format!("1 to {} lengths are allowed", FrameSizes::LENGTHS_MAX);
                return Err(Problem::with(list, sentence));
            }
            let length = |text: &Spanned<&String>| {
                let (referenced, defined) = (text.referenced, text.defined);
                whole(
                    &Spanned { value: text.value.clone(), referenced, defined },
                    18..=PAYLOAD_BYTES_MAX,
                )
            };
            each.iter().map(length).collect::<Result<_, _>>().map(Payloads::Lengths)
        }
    }
}
