//! From the keys of a services file to services that can be tested.

use std::path::PathBuf;
use std::time::Duration;

use fp_method::y1564::{
    Colours, Configuration, Criteria, Directions, Frames, PERFORMANCE_DEFAULT, Service, Tcp,
    Traffic,
};
use fp_model::{Dscp, FrameSizes, PacketLayout, Rate};
use serde_saphyr::{Location, Spanned};

use super::file::{self, ColorMode, File};
use super::{KIND, Place, Places, Services};
use crate::yaml::value::{dscp, duration, l2_rate, positive, share, size, whole};
use crate::yaml::{Problem, Short, Text};

const MOST_SERVICES: usize = 16;
const MOST_DELAY: Duration = Duration::from_secs(60);
const MOST_PERFORMANCE: Duration = Duration::from_secs(31 * 24 * 3600);
const LEAST_PERFORMANCE: Duration = Duration::from_secs(1);
const LEAST_FRAME_BYTES: u64 = 64;
const MOST_FRAME_BYTES: u64 = 9018;
/// A frame with a packet of 1500 bytes and no tags.
const FULL_FRAME_BYTES: u32 = 1518;
/// What a bucket may hold, and in how much time of its rate.
const MOST_BUCKET_BYTES: u64 = 1 << 30;
const MOST_BURST: Duration = Duration::from_secs(30);

pub(super) fn services(file: &File) -> Result<Services, Problem> {
    KIND.check_schema(&file.schema)?;
    let listed = &file.services.value;
    if listed.is_empty() || listed.len() > MOST_SERVICES {
        let sentence = format!("1 to {MOST_SERVICES} services are allowed, not {}", listed.len());
        return Err(Problem::with(&file.services, sentence));
    }
    for (place, each) in listed.iter().enumerate() {
        let name = &each.value.name;
        if name.value.trim().is_empty() {
            return Err(Problem::with(name, "a service has a name"));
        }
        if listed[..place].iter().any(|other| other.value.name.value == name.value) {
            let sentence = format!("a second service `{}`: each has a name of its own", name.value);
            return Err(Problem::with(name, sentence));
        }
    }
    let performance = file.performance.as_ref().and_then(|keys| keys.value.duration.as_ref());
    Ok(Services {
        services: listed.iter().map(service).collect::<Result<_, _>>()?,
        configuration: file
            .configuration
            .as_ref()
            .map_or_else(|| Ok(Configuration::default()), |keys| configuration(&keys.value))?,
        duration: performance.map_or(Ok(PERFORMANCE_DEFAULT), |text| {
            between(text, LEAST_PERFORMANCE, MOST_PERFORMANCE)
        })?,
        file: PathBuf::new(),
        places: listed.iter().map(places).collect(),
    })
}

fn configuration(keys: &file::Configuration) -> Result<Configuration, Problem> {
    let by_default = Configuration::default();
    let step = |text| between(text, Configuration::STEP_MIN, Configuration::STEP_MAX);
    let cir_steps_percent = match &keys.cir_steps {
        None => by_default.cir_steps_percent,
        Some(steps) => {
            if !(1..=10).contains(&steps.value.len()) {
                return Err(Problem::with(steps, "1 to 10 steps are allowed"));
            }
            steps.value.iter().map(cir_step).collect::<Result<_, _>>()?
        }
    };
    Ok(Configuration {
        step: keys.step_time.as_ref().map_or(Ok(by_default.step), step)?,
        cir_steps_percent,
        policing_percent: keys.policing.as_ref().map(policing).transpose()?,
        margin_percent: keys
            .margin
            .as_ref()
            .map_or(Ok(by_default.margin_percent), |text| Ok(100.0 * share(text)?.as_f64()))?,
        bursts: keys.bursts.unwrap_or(by_default.bursts),
    })
}

/// `25` or `25%`.
fn cir_step(text: &Text) -> Result<u32, Problem> {
    let number = text.value.trim().trim_end_matches('%').trim_end().to_owned();
    let number = Spanned { value: number, referenced: text.referenced, defined: text.defined };
    whole(&number, 1..=100).map(|percent| percent as u32)
}

/// Above all that was sold, and no more than any line is meant to carry beside it.
fn policing(text: &Text) -> Result<f64, Problem> {
    let number = text.value.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    number.filter(|percent| *percent > 100.0 && *percent <= 1000.0).ok_or_else(|| {
        let sentence = "the policing step offers more than 100% of CIR and EIR, and at most 1000%";
        Problem::with(text, format!("`{}`: {sentence}", text.value))
    })
}

fn between(text: &Text, least: Duration, most: Duration) -> Result<Duration, Problem> {
    let time = duration(text, most)?;
    if time < least {
        let sentence = format!("`{}`: at least {} s", text.value, least.as_secs());
        return Err(Problem::with(text, sentence));
    }
    Ok(time)
}

fn service(here: &Spanned<file::Service>) -> Result<Service, Problem> {
    let keys = &here.value;
    let cir_l2 = positive(&keys.cir, l2_rate)?;
    let vlan_tags = keys.vlan_tags.as_ref().map_or(Ok(0), |text| whole(text, 0..=2))? as u8;
    let sent = keys.dscp.as_ref().map(dscp).transpose()?;
    Ok(Service {
        name: keys.name.value.clone(),
        directions: match keys.direction {
            Some(file::Direction::Download) => Directions::Download,
            Some(file::Direction::Upload) => Directions::Upload,
            Some(file::Direction::Both) | None => Directions::Both,
        },
        vlan_tags,
        dscp: sent.unwrap_or(Dscp::BEST_EFFORT),
        dscp_received: match &keys.dscp_received {
            Some(text) if text.value.trim().eq_ignore_ascii_case("any") => None,
            Some(text) => Some(dscp(text)?),
            // A class that nobody asked for need not be kept.
            None => sent,
        },
        cir_l2,
        traffic: match &keys.tcp {
            Some(tcp) => Traffic::Tcp(connections(keys, tcp)?),
            None => Traffic::Frames(frames(here, cir_l2, vlan_tags)?),
        },
    })
}

fn places(here: &Spanned<file::Service>) -> Places {
    let keys = &here.value;
    let lengths = keys.frame_size.as_ref().map(|text| text.defined);
    let lengths = lengths.or(keys.emix.as_ref().map(|emix| emix.defined)).unwrap_or(here.defined);
    let place = |at: Location| Place { line: at.line().max(1), column: at.column().max(1) };
    Places { lengths: place(lengths), cir: place(keys.cir.defined) }
}

fn connections(keys: &file::Service, tcp: &Spanned<file::Tcp>) -> Result<Tcp, Problem> {
    let only_frames = [&keys.frame_size, &keys.cbs, &keys.eir, &keys.ebs, &keys.yellow_dscp];
    let place = only_frames.into_iter().flatten().next().map(|text| text.defined);
    let place = place.or(keys.emix.as_ref().map(|emix| emix.defined));
    let place = place.or(keys.color_mode.as_ref().map(|mode| mode.defined));
    let place = place.or(keys.criteria.as_ref().map(|criteria| criteria.defined));
    if let Some(defined) = place {
        let sentence = "a service of TCP connections has cir, direction, dscp, vlan_tags and what \
                        `tcp` says: this key belongs to one of frames";
        return Err(Problem::with(&Spanned { value: (), referenced: defined, defined }, sentence));
    }
    let keys = &tcp.value;
    let window = |text: &Text| {
        let bytes = size(text, 1_073_725_440)?;
        if bytes < 1000 {
            return Err(Problem::with(text, "a window has at least 1000 bytes"));
        }
        Ok(bytes)
    };
    Ok(Tcp {
        connections: keys.connections.as_ref().map_or(Ok(4), |text| whole(text, 1..=1000))? as u32,
        window_bytes: keys.window.as_ref().map(window).transpose()?,
        throughput_percent: keys
            .throughput
            .as_ref()
            .map_or(Ok(Tcp::THROUGHPUT_PERCENT), |text| Ok(100.0 * share(text)?.as_f64()))?,
    })
}

fn frames(here: &Spanned<file::Service>, cir: Rate, vlan_tags: u8) -> Result<Frames, Problem> {
    let keys = &here.value;
    let sizes = sizes(here, vlan_tags)?;
    let longest = u64::from(sizes.longest());
    let eir_l2 = keys.eir.as_ref().map_or(Ok(Rate::ZERO), l2_rate)?;
    if let (Some(ebs), true) = (&keys.ebs, eir_l2 == Rate::ZERO) {
        return Err(Problem::with(ebs, "an ebs needs an eir, the rate that fills it"));
    }
    let cbs_bytes = keys.cbs.as_ref().map(|text| bucket(text, "cbs", cir, longest)).transpose()?;
    let ebs_bytes =
        keys.ebs.as_ref().map(|text| bucket(text, "ebs", eir_l2, longest)).transpose()?;
    let Some(criteria) = &keys.criteria else {
        let sentence = "criteria are missing here, such as `criteria: {flr: 0.1%, ftd: 20ms, fdv: \
                        5ms, availability: 99.99%}`; only flr must be there";
        return Err(Problem::with(here, sentence));
    };
    Ok(Frames {
        sizes,
        eir_l2,
        cbs_bytes,
        ebs_bytes,
        colours: colours(keys)?,
        criteria: acceptance(&criteria.value)?,
    })
}

/// A bucket that a frame fits into and that its rate fills in a sensible time.
fn bucket(text: &Text, name: &str, rate: Rate, frame_bytes: u64) -> Result<u64, Problem> {
    let bytes = size(text, MOST_BUCKET_BYTES)?;
    if bytes < frame_bytes {
        let sentence = format!(
            "{name} of {bytes} bytes is less than a frame of {frame_bytes} bytes, which would \
             never pass: at least {frame_bytes}"
        );
        return Err(Problem::with(text, sentence));
    }
    let most = rate.bytes_in(MOST_BURST);
    if bytes > most {
        let sentence = format!(
            "{name} of {bytes} bytes is more than its rate brings in {} s: at most {most}",
            MOST_BURST.as_secs()
        );
        return Err(Problem::with(text, sentence));
    }
    Ok(bytes)
}

fn colours(keys: &file::Service) -> Result<Colours, Problem> {
    let mode = keys.color_mode.as_ref();
    match (mode.map(|mode| mode.value), &keys.yellow_dscp) {
        (Some(ColorMode::Aware), Some(yellow)) => {
            let yellow_dscp = dscp(yellow)?;
            let green = keys.dscp.as_ref().map_or(Ok(Dscp::BEST_EFFORT), dscp)?;
            if yellow_dscp == green {
                let sentence = "green and yellow frames are told apart by their DSCP: name another";
                return Err(Problem::with(yellow, sentence));
            }
            Ok(Colours::Aware { yellow_dscp })
        }
        (Some(ColorMode::Blind) | None, None) => Ok(Colours::Blind),
        (Some(ColorMode::Blind) | None, Some(yellow)) => {
            Err(Problem::with(yellow, "yellow_dscp counts only where color_mode is aware"))
        }
        (Some(ColorMode::Aware), None) => {
            let sentence = "color_mode aware needs a yellow_dscp, such as `yellow_dscp: af42`";
            let place = mode.map_or(keys.name.defined, |mode| mode.defined);
            let here = Spanned { value: (), referenced: place, defined: place };
            Err(Problem::with(&here, sentence))
        }
    }
}

fn acceptance(keys: &file::Criteria) -> Result<Criteria, Problem> {
    let time = |text: &Text| positive(text, |text| duration(text, MOST_DELAY));
    let availability = keys.availability.as_ref().map(share).transpose()?;
    Ok(Criteria {
        flr: share(&keys.flr)?.as_f64(),
        ftd: keys.ftd.as_ref().map(time).transpose()?,
        fdv: keys.fdv.as_ref().map(time).transpose()?,
        availability_percent: availability.map(|share| 100.0 * share.as_f64()),
    })
}

fn sizes(here: &Spanned<file::Service>, vlan_tags: u8) -> Result<FrameSizes, Problem> {
    let keys = &here.value;
    match (&keys.frame_size, &keys.emix) {
        (Some(text), None) => frame_size(text).map(FrameSizes::fixed),
        (None, Some(mix)) => emix(mix, vlan_tags),
        (Some(_), Some(mix)) => {
            Err(Problem::with(mix, "a service has a frame_size or an emix, not both"))
        }
        (None, None) => {
            let sentence = "a service needs `frame_size: 512`, `emix: abceg` or `tcp: {}`";
            Err(Problem::with(here, sentence))
        }
    }
}

fn frame_size(text: &Text) -> Result<u32, Problem> {
    whole(text, LEAST_FRAME_BYTES..=MOST_FRAME_BYTES).map(|bytes| bytes as u32)
}

/// A letter for each frame of a mix that repeats.
fn emix(mix: &Spanned<Short<file::Emix>>, vlan_tags: u8) -> Result<FrameSizes, Problem> {
    let tags_bytes = PacketLayout::VLAN_TAG_BYTES * u32::from(vlan_tags);
    let (letters, mtu, user) = match &mix.value {
        Short::Value(text) => {
            let (referenced, defined) = (mix.referenced, mix.defined);
            (&Spanned { value: text.clone(), referenced, defined }, None, None)
        }
        Short::Keys(keys) => {
            let length = |text: &Option<Text>| text.as_ref().map(frame_size).transpose();
            (&keys.sequence, length(&keys.mtu)?, length(&keys.user)?)
        }
    };
    let bytes = |letter: char| match letter.to_ascii_lowercase() {
        'a' => Ok(64),
        'b' => Ok(128),
        'c' => Ok(256),
        'd' => Ok(512),
        'e' => Ok(1024),
        'f' => Ok(1280),
        'g' => Ok(1518),
        'h' => Ok(mtu.unwrap_or(FULL_FRAME_BYTES + tags_bytes)),
        'u' => user.ok_or_else(|| {
            let sentence = "the letter u needs a length, as in `emix: {sequence: au, user: 300}`";
            Problem::with(letters, sentence)
        }),
        other => {
            let sentence = format!(
                "`{other}` is no frame length: a is 64 bytes, b 128, c 256, d 512, e 1024, f 1280, \
                 g 1518, h the MTU and u the user's"
            );
            Err(Problem::with(letters, sentence))
        }
    };
    let lengths = letters.value.trim().chars().map(bytes).collect::<Result<_, _>>()?;
    FrameSizes::new(lengths).map_err(|error| Problem::with(letters, error.to_string()))
}
