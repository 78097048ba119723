//! Values of `fullpipe flow`, as users of iperf3 write them.

use std::time::Duration;

use fp_model::{
    Dscp, Layer, LayeredRate, Rate, parse_dscp, parse_duration, parse_rate, parse_size,
};

use crate::flows::wanted::{CONNECTIONS_MAX, FLOWS_MAX, PACKETS_PER_SECOND_MAX};

const RATE_MAX: Rate = Rate::bps(1_000_000_000_000);

/// A rate, or none: as fast as it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BitRate {
    Unlimited,
    Limited(LayeredRate),
}

/// Lengths of payload that repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lengths(pub(super) Vec<u64>);

pub(super) fn bit_rate(text: &str) -> Result<BitRate, String> {
    if let Some((_, burst)) = text.split_once('/')
        && burst.parse::<u64>().is_ok()
    {
        return Err("bursts are tested by `fullpipe burst`: give the rate alone".into());
    }
    let (rate, layer) = parse_rate(text).map_err(|error| error.to_string())?;
    if rate > RATE_MAX {
        return Err("a rate is at most 1T".into());
    }
    let layer = layer.unwrap_or(Layer::L4);
    Ok(if rate == Rate::ZERO {
        BitRate::Unlimited
    } else {
        BitRate::Limited(LayeredRate { rate, layer })
    })
}

pub(super) fn per_second(text: &str) -> Result<u64, String> {
    match parse_size(text) {
        Ok(count @ 1..=PACKETS_PER_SECOND_MAX) => Ok(count),
        Ok(_) | Err(_) => {
            Err(format!("packets per second are from 1 to {PACKETS_PER_SECOND_MAX}, such as 50k"))
        }
    }
}

pub(super) fn time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if (Duration::from_millis(100)..=Duration::from_secs(86_400)).contains(&time) {
        Ok(time)
    } else {
        Err("flows last from 0.1 s to 24 h; -n or -k ends them by count".into())
    }
}

pub(super) fn omitted(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if time <= Duration::from_secs(600) {
        Ok(time)
    } else {
        Err("at most 600 s are left out".into())
    }
}

pub(super) fn volume(text: &str) -> Result<u64, String> {
    match parse_size(text).map_err(|error| error.to_string())? {
        0 => Err("must be more than zero; without -n and -k the time of -t counts".into()),
        volume if volume > 1 << 50 => Err("is too large: at most 2^50".into()),
        volume => Ok(volume),
    }
}

pub(super) fn length(text: &str) -> Result<u64, String> {
    match parse_size(text) {
        Ok(bytes @ 1..=1_048_576) => Ok(bytes),
        Ok(_) | Err(_) => Err("a length is from 1 byte to 1 MiB".into()),
    }
}

pub(super) fn lengths(text: &str) -> Result<Lengths, String> {
    let each: Result<Vec<u64>, String> = text.split(',').map(length).collect();
    let each = each?;
    if each.len() > fp_model::FrameSizes::LENGTHS_MAX {
        return Err(format!("a list has up to {} lengths", fp_model::FrameSizes::LENGTHS_MAX));
    }
    Ok(Lengths(each))
}

pub(super) fn connections(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(count @ 1..=CONNECTIONS_MAX) => Ok(count),
        Ok(_) | Err(_) => {
            Err(format!("from 1 to {CONNECTIONS_MAX} TCP connections or {FLOWS_MAX} UDP streams"))
        }
    }
}

pub(super) fn mss(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bytes @ 88..=9000) => Ok(bytes),
        Ok(_) | Err(_) => Err("a segment has from 88 to 9000 bytes".into()),
    }
}

pub(super) fn dscp(text: &str) -> Result<Dscp, String> {
    parse_dscp(text).map_err(|error| error.to_string())
}

pub(super) fn tos(text: &str) -> Result<u8, String> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u8::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "a type of service is a byte: 0 to 255, or 0x00 to 0xff".into())
}

pub(super) fn port(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(port @ 1..) => Ok(port),
        Ok(_) | Err(_) => Err("a port is from 1 to 65535".into()),
    }
}
