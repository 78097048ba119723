//! What a client asks of a server: the parameters of a test.

use std::time::Duration;

use fp_model::Rate;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Counter, DatagramHead, STREAMS_MAX, whole};

/// What a test is to be, within what iperf3 allows.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    pub transport: Transport,
    pub way: Way,
    /// In each direction.
    pub streams: u32,
    pub end: End,
    /// Before the figures begin: whole seconds.
    pub omit: Duration,
    /// Length of a write, or of a datagram's payload.
    pub block_bytes: u32,
    /// Payload of each stream; `None` is as much as goes.
    pub rate: Option<Rate>,
    /// Blocks that are sent together.
    pub burst_blocks: u32,
    /// Pacing of each stream by the kernel.
    pub pacing: Option<Rate>,
    pub window_bytes: Option<u32>,
    pub mss_bytes: Option<u32>,
    pub no_delay: bool,
    pub tos: u8,
    pub congestion: Option<String>,
    pub title: Option<String>,
    pub wants_server_output: bool,
    pub counter: Counter,
    pub authtoken: Option<String>,
    pub client_version: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    Udp,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The client.
    Forward,
    /// The server: `-R`.
    Reverse,
    /// Both at once: `--bidir`.
    Both,
}

/// When the client ends the test; of bytes and blocks those of all streams together count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Whole seconds after the omitted ones.
    After(Duration),
    Bytes(u64),
    Blocks(u64),
    /// Until it is stopped.
    Never,
}

/// What is wrong with parameters.
#[derive(Debug, thiserror::Error)]
pub enum ParametersError {
    #[error("they are not in the form of iperf3: {0}")]
    Form(#[from] serde_json::Error),
    #[error("they ask for no transport of this end: it has TCP and UDP")]
    Transport,
    #[error("`{name}` is {value}: it may be from {least} to {most}")]
    Range { name: &'static str, value: i64, least: i64, most: i64 },
    #[error("the name of a congestion control has {0} bytes: it may have 15")]
    Congestion(usize),
}

const SECONDS_MAX: i64 = 86_400;
const OMIT_MAX: i64 = 600;
const TCP_BLOCK_BYTES_MAX: i64 = 1 << 20;
const TCP_BLOCK_BYTES: i64 = 128 << 10;
const UDP_BLOCK_BYTES_MAX: i64 = 65_507;
/// Payload of a full packet over Ethernet, where nothing better is known.
const UDP_BLOCK_BYTES: i64 = 1460;
const MSS_BYTES_MAX: i64 = 32_767;
const WINDOW_BYTES_MAX: i64 = 512 << 20;
const BURST_BLOCKS_MAX: i64 = 1000;
/// `TCP_CA_NAME_MAX` of Linux, less the zero byte.
const CONGESTION_BYTES_MAX: usize = 15;

impl Parameters {
    /// A server reads no more than this.
    pub const BYTES_MAX: usize = 8 << 10;

    /// # Errors
    /// What is not of iperf3's form or beyond its limits.
    pub fn read(json: &[u8]) -> Result<Self, ParametersError> {
        serde_json::from_slice::<Wire>(json)?.try_into()
    }

    pub fn json(&self) -> serde_json::Value {
        // Plain numbers, strings and flags always have a form in JSON.
        serde_json::to_value(Wire::from(self)).unwrap_or_default()
    }

    /// How many streams the client sends on, and on how many it receives.
    pub const fn streams_of_client(&self) -> (u32, u32) {
        match self.way {
            Way::Forward => (self.streams, 0),
            Way::Reverse => (0, self.streams),
            Way::Both => (self.streams, self.streams),
        }
    }
}

/// As it goes over the wire. What is absent there is zero here, and the other way round.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Wire {
    #[serde(deserialize_with = "flag", skip_serializing_if = "is_unset")]
    tcp: bool,
    #[serde(deserialize_with = "flag", skip_serializing_if = "is_unset")]
    udp: bool,
    #[serde(deserialize_with = "whole")]
    omit: i64,
    #[serde(deserialize_with = "whole")]
    time: i64,
    #[serde(deserialize_with = "whole")]
    num: i64,
    #[serde(deserialize_with = "whole")]
    blockcount: i64,
    #[serde(rename = "MSS", deserialize_with = "whole", skip_serializing_if = "is_zero")]
    mss: i64,
    #[serde(deserialize_with = "flag", skip_serializing_if = "is_unset")]
    nodelay: bool,
    #[serde(deserialize_with = "whole")]
    parallel: i64,
    #[serde(deserialize_with = "flag", skip_serializing_if = "is_unset")]
    reverse: bool,
    #[serde(deserialize_with = "flag", skip_serializing_if = "is_unset")]
    bidirectional: bool,
    #[serde(deserialize_with = "whole", skip_serializing_if = "is_zero")]
    window: i64,
    #[serde(deserialize_with = "whole")]
    len: i64,
    #[serde(deserialize_with = "whole", skip_serializing_if = "is_zero")]
    bandwidth: i64,
    #[serde(deserialize_with = "whole", skip_serializing_if = "is_zero")]
    fqrate: i64,
    #[serde(deserialize_with = "whole")]
    pacing_timer: i64,
    #[serde(deserialize_with = "whole", skip_serializing_if = "is_zero")]
    burst: i64,
    #[serde(rename = "TOS", deserialize_with = "whole", skip_serializing_if = "is_zero")]
    tos: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(deserialize_with = "whole_or_flag", skip_serializing_if = "is_zero")]
    get_server_output: i64,
    #[serde(deserialize_with = "whole_or_flag", skip_serializing_if = "is_zero")]
    udp_counters_64bit: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    authtoken: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_version: Option<String>,
}

impl TryFrom<Wire> for Parameters {
    type Error = ParametersError;

    fn try_from(wire: Wire) -> Result<Self, ParametersError> {
        let transport = match (wire.tcp, wire.udp) {
            (true, false) => Transport::Tcp,
            (false, true) => Transport::Udp,
            (true, true) | (false, false) => return Err(ParametersError::Transport),
        };
        let way = match (wire.bidirectional, wire.reverse) {
            (true, _) => Way::Both,
            (false, true) => Way::Reverse,
            (false, false) => Way::Forward,
        };
        let seconds = within("time", wire.time, 0, SECONDS_MAX)?;
        let omit = within("omit", wire.omit, 0, OMIT_MAX)?;
        Ok(Self {
            transport,
            way,
            streams: within("parallel", wire.parallel.max(1), 1, STREAMS_MAX.into())? as u32,
            end: end(
                within("num", wire.num, 0, i64::MAX)?,
                within("blockcount", wire.blockcount, 0, i64::MAX)?,
                seconds,
            ),
            omit: Duration::from_secs(omit),
            block_bytes: block_bytes(transport, wire.len)?,
            rate: rate("bandwidth", wire.bandwidth)?,
            burst_blocks: within("burst", wire.burst, 0, BURST_BLOCKS_MAX)? as u32,
            pacing: rate("fqrate", wire.fqrate)?,
            window_bytes: positive(within("window", wire.window, 0, WINDOW_BYTES_MAX)?),
            mss_bytes: positive(within("MSS", wire.mss, 0, MSS_BYTES_MAX)?),
            no_delay: wire.nodelay,
            tos: within("TOS", wire.tos, 0, 255)? as u8,
            congestion: congestion(wire.congestion)?,
            title: wire.title,
            wants_server_output: wire.get_server_output != 0,
            counter: counter(wire.udp_counters_64bit != 0),
            authtoken: wire.authtoken,
            client_version: wire.client_version,
        })
    }
}

impl From<&Parameters> for Wire {
    fn from(asked: &Parameters) -> Self {
        /// A host's processor tells iperf3's timers apart to this many microseconds by default.
        const PACING_TIMER_US: i64 = 1000;
        let (num, blockcount, time) = match asked.end {
            End::After(time) => (0, 0, time.as_secs()),
            End::Bytes(bytes) => (bytes, 0, 0),
            End::Blocks(blocks) => (0, blocks, 0),
            End::Never => (0, 0, 0),
        };
        Self {
            tcp: asked.transport == Transport::Tcp,
            udp: asked.transport == Transport::Udp,
            omit: signed(asked.omit.as_secs()),
            time: signed(time),
            num: signed(num),
            blockcount: signed(blockcount),
            mss: asked.mss_bytes.unwrap_or(0).into(),
            nodelay: asked.no_delay,
            parallel: asked.streams.into(),
            reverse: asked.way == Way::Reverse,
            bidirectional: asked.way == Way::Both,
            window: asked.window_bytes.unwrap_or(0).into(),
            len: asked.block_bytes.into(),
            bandwidth: signed(asked.rate.unwrap_or_default().as_bps()),
            fqrate: signed(asked.pacing.unwrap_or_default().as_bps()),
            pacing_timer: PACING_TIMER_US,
            burst: asked.burst_blocks.into(),
            tos: asked.tos.into(),
            congestion: asked.congestion.clone(),
            title: asked.title.clone(),
            get_server_output: asked.wants_server_output.into(),
            udp_counters_64bit: (asked.counter == Counter::Bits64).into(),
            authtoken: asked.authtoken.clone(),
            client_version: asked.client_version.clone(),
        }
    }
}

const fn end(bytes: u64, blocks: u64, seconds: u64) -> End {
    match (bytes, blocks, seconds) {
        (0, 0, 0) => End::Never,
        (0, 0, seconds) => End::After(Duration::from_secs(seconds)),
        (0, blocks, _) => End::Blocks(blocks),
        (bytes, ..) => End::Bytes(bytes),
    }
}

fn block_bytes(transport: Transport, len: i64) -> Result<u32, ParametersError> {
    let least = DatagramHead::BYTES_MAX as i64;
    let bytes = match (transport, len) {
        (Transport::Tcp, 0) => Ok(TCP_BLOCK_BYTES as u64),
        (Transport::Udp, 0) => Ok(UDP_BLOCK_BYTES as u64),
        (Transport::Tcp, len) => within("len", len, 1, TCP_BLOCK_BYTES_MAX),
        (Transport::Udp, len) => within("len", len, least, UDP_BLOCK_BYTES_MAX),
    };
    Ok(bytes? as u32)
}

/// Zero is no limit.
fn rate(name: &'static str, value: i64) -> Result<Option<Rate>, ParametersError> {
    let bps = within(name, value, 0, i64::MAX)?;
    Ok((bps > 0).then_some(Rate::bps(bps)))
}

fn congestion(name: Option<String>) -> Result<Option<String>, ParametersError> {
    match name {
        Some(name) if name.len() > CONGESTION_BYTES_MAX => {
            Err(ParametersError::Congestion(name.len()))
        }
        name => Ok(name),
    }
}

const fn counter(wide: bool) -> Counter {
    if wide { Counter::Bits64 } else { Counter::Bits32 }
}

const fn within(
    name: &'static str,
    value: i64,
    least: i64,
    most: i64,
) -> Result<u64, ParametersError> {
    if value < least || value > most {
        return Err(ParametersError::Range { name, value, least, most });
    }
    Ok(value.unsigned_abs())
}

/// Within the limits above, whatever is counted fits 32 bits.
fn positive(value: u64) -> Option<u32> {
    u32::try_from(value).ok().filter(|value| *value > 0)
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_unset(flag: &bool) -> bool {
    !*flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// Some flags are `true`, some are 1, and which is which depends on the version.
fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    whole_or_flag(from).map(|number| number != 0)
}

fn whole_or_flag<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Flag {
        Word(bool),
        Number(f64),
    }
    Ok(match Flag::deserialize(from)? {
        Flag::Word(set) => set.into(),
        Flag::Number(number) => (number != 0.0).into(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parameters_of_3_12_are_read() {
        let json = br#"{"tcp":true,"omit":1,"time":10,"num":0,"blockcount":0,"MSS":1400,
            "nodelay":true,"parallel":3,"reverse":true,"window":65536,"len":131072,
            "bandwidth":1e+16,"pacing_timer":1000,"TOS":184,"congestion":"reno",
            "client_version":"3.12","some_new_key":{"a":[1]}}"#;
        let asked = Parameters::read(json).unwrap();
        assert_eq!((asked.transport, asked.way, asked.streams), (Transport::Tcp, Way::Reverse, 3));
        assert_eq!(asked.end, End::After(Duration::from_secs(10)));
        assert_eq!((asked.omit, asked.tos), (Duration::from_secs(1), 184));
        assert_eq!((asked.mss_bytes, asked.window_bytes), (Some(1400), Some(65_536)));
        assert_eq!(asked.rate, Some(Rate::bps(10_000_000_000_000_000)));
    }

    #[test]
    fn an_absent_rate_is_no_limit_even_for_udp() {
        let asked = Parameters::read(br#"{"udp":true,"time":1,"len":1000}"#).unwrap();
        assert_eq!((asked.rate, asked.counter), (None, Counter::Bits32));
    }

    #[test]
    fn bytes_go_before_blocks_and_blocks_before_time() {
        let end = |json: &str| Parameters::read(json.as_bytes()).unwrap().end;
        assert_eq!(end(r#"{"tcp":true,"time":10,"num":5,"blockcount":6}"#), End::Bytes(5));
        assert_eq!(end(r#"{"tcp":true,"time":10,"blockcount":6}"#), End::Blocks(6));
        assert_eq!(end(r#"{"tcp":true}"#), End::Never);
    }

    #[test]
    fn what_is_beyond_the_limits_or_of_another_type_is_refused() {
        for json in [
            r#"{"tcp":true,"udp":true}"#,
            r#"{"sctp":true}"#,
            r#"{"tcp":true,"parallel":129}"#,
            r#"{"tcp":true,"time":-1}"#,
            r#"{"tcp":true,"time":86401}"#,
            r#"{"tcp":true,"omit":601}"#,
            r#"{"tcp":true,"len":1048577}"#,
            r#"{"udp":true,"len":15}"#,
            r#"{"udp":true,"len":65508}"#,
            r#"{"tcp":true,"TOS":256}"#,
            r#"{"tcp":true,"window":1e300}"#,
            r#"{"tcp":true,"congestion":"a_name_of_sixteen"}"#,
            r#"{"tcp":true,"congestion":7}"#,
            r#"{"tcp":true,"time":"10"}"#,
            r#"{"tcp":[],"time":10}"#,
            r#"[]"#,
            "",
        ] {
            assert!(Parameters::read(json.as_bytes()).is_err(), "{json}");
        }
    }

    #[test]
    fn nothing_nests_deep_enough_to_hurt() {
        let deep = format!(r#"{{"tcp":true,"x":{}"#, "[".repeat(8000));
        assert!(Parameters::read(deep.as_bytes()).is_err());
    }

    prop_compose! {
        fn any_parameters()(
            transport in prop_oneof![Just(Transport::Tcp), Just(Transport::Udp)],
            way in prop_oneof![Just(Way::Forward), Just(Way::Reverse), Just(Way::Both)],
            streams in 1..=STREAMS_MAX,
            end in prop_oneof![
                (1..=86_400_u64).prop_map(|s| End::After(Duration::from_secs(s))),
                (1..=i64::MAX as u64).prop_map(End::Bytes),
                (1..=i64::MAX as u64).prop_map(End::Blocks),
                Just(End::Never),
            ],
            omit in 0..=600_u64,
            block_bytes in 16..=65_507_u32,
            rate in prop::option::of((1..=i64::MAX as u64).prop_map(Rate::bps)),
            (burst_blocks, tos, no_delay) in (0..=1000_u32, any::<u8>(), any::<bool>()),
            window_bytes in prop::option::of(1..=512_u32 << 20),
            mss_bytes in prop::option::of(1..=32_767_u32),
            (congestion, title) in (prop::option::of("[a-z]{1,15}"), prop::option::of(".{0,40}")),
            (wants_server_output, wide) in (any::<bool>(), any::<bool>()),
        ) -> Parameters {
            Parameters {
                transport, way, streams, end, omit: Duration::from_secs(omit), block_bytes, rate,
                burst_blocks, pacing: rate, window_bytes, mss_bytes, no_delay, tos, congestion,
                title, wants_server_output, counter: counter(wide), authtoken: None,
                client_version: None,
            }
        }
    }

    proptest! {
        #[test]
        fn parameters_come_back_as_they_went(asked in any_parameters()) {
            let json = asked.json().to_string();
            prop_assert_eq!(Parameters::read(json.as_bytes()).unwrap(), asked);
        }

        #[test]
        fn garbage_gives_an_error_and_no_panic(json in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(Parameters::read(&json).is_err());
        }

        #[test]
        fn damaged_parameters_are_refused_or_within_the_limits(
            asked in any_parameters(), at in 0..400_usize, byte: u8,
        ) {
            let mut json = asked.json().to_string().into_bytes();
            let at = at % json.len();
            json[at] = byte;
            if let Ok(read) = Parameters::read(&json) {
                prop_assert!((1..=STREAMS_MAX).contains(&read.streams));
                prop_assert!((1..=1 << 20).contains(&read.block_bytes));
            }
        }
    }
}
