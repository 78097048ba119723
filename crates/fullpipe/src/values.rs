//! Values on the command line: what each option allows, and the sentence for what it does not.

use std::time::Duration;

use fp_model::{
    Dscp, FlowSpec, Layer, LayeredRate, PortRange, Rate, parse_duration, parse_rate, parse_size,
};

/// Below this not even two full frames fit into the shortest trial.
const LEAST_RATE: Rate = Rate::bps(64_000);
const MOST_RATE: Rate = Rate::bps(1_000_000_000_000);

pub(crate) fn layered_rate(text: &str) -> Result<LayeredRate, String> {
    let (rate, layer) = parse_rate(text).map_err(|error| error.to_string())?;
    if !(LEAST_RATE..=MOST_RATE).contains(&rate) {
        return Err("this rate is from 64k to 1T, in bits per second".into());
    }
    match layer.unwrap_or(Layer::L2) {
        Layer::L4 => Err("this rate may be at @l1, @l2 or @l3".into()),
        layer => Ok(LayeredRate { rate, layer }),
    }
}

pub(crate) fn plain_rate(text: &str) -> Result<Rate, String> {
    match parse_rate(text).map_err(|error| error.to_string())? {
        (Rate::ZERO, _) => Err("a rate must be more than zero".into()),
        (rate, None) => Ok(rate),
        (_, Some(_)) => Err("the layer of this rate cannot be chosen".into()),
    }
}

/// `None` of what is no port and no range from a lower one to a higher one.
pub(crate) fn port_range(text: &str) -> Option<PortRange> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    let range = PortRange { first: port(first)?, last: port(last)? };
    (range.first <= range.last).then_some(range)
}

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

pub(crate) fn window(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text).map_err(|error| error.to_string())?;
    // RFC 7323 section 2.3: the largest window is 65,535 shifted by 14.
    if (1_000..=1_073_725_440).contains(&bytes) {
        Ok(bytes)
    } else {
        Err("a window is from 1,000 to 1,073,725,440 bytes".into())
    }
}

pub(crate) fn connections(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(connections @ 1..=1000) => Ok(connections),
        Ok(_) | Err(_) => Err("a number of connections from 1 to 1000".into()),
    }
}

pub(crate) fn trial_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if (Duration::from_millis(500)..=Duration::from_secs(86_400)).contains(&time) {
        Ok(time)
    } else {
        Err("a trial takes from 0.5 s to 24 h".into())
    }
}

pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if (Duration::from_millis(50)..=Duration::from_secs(3600)).contains(&time) {
        Ok(time)
    } else {
        Err("an interval is from 50 ms to 1 h; -q leaves out what is told meanwhile".into())
    }
}

pub(crate) fn dscp(text: &str) -> Result<Dscp, String> {
    let number = text.parse().ok().and_then(Dscp::new);
    number.ok_or_else(|| "a DSCP is a number from 0 to 63".into())
}

pub(crate) fn percent(text: &str) -> Result<f64, String> {
    match any_percent(text) {
        Ok(percent) if percent <= 100.0 => Ok(percent),
        Ok(_) | Err(_) => Err("a percentage from 0 to 100, such as 95%".into()),
    }
}

pub(crate) fn any_percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>();
    match number {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent),
        Ok(_) | Err(_) => Err("a percentage of 0 or more, such as 95%".into()),
    }
}

pub(crate) fn burst_size(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text).map_err(|error| error.to_string())?;
    if (64..=1_000_000_000).contains(&bytes) {
        Ok(bytes)
    } else {
        Err("a burst size is from 64 bytes to 1 GB".into())
    }
}

pub(crate) fn frame_bytes(text: &str) -> Result<u32, String> {
    match text.trim().parse() {
        Ok(bytes @ 64..=9018) => Ok(bytes),
        Ok(_) | Err(_) => Err("a frame has from 64 to 9018 bytes".into()),
    }
}

pub(crate) fn vlan_tags(text: &str) -> Result<u8, String> {
    match text.parse() {
        Ok(tags) if tags <= FlowSpec::VLAN_TAGS_MAX => Ok(tags),
        Ok(_) | Err(_) => Err(format!("a frame has up to {} VLAN tags", FlowSpec::VLAN_TAGS_MAX)),
    }
}
