//! What the two ends say to each other: length-prefixed JSON, typed, bounded and versioned.

use std::net::IpAddr;

use fp_model::{Direction, HostFacts, Interruption, TesterHealth, Trial};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::half::{ConnectionsSlot, FlowKey, Half, ReceiverSlot, SenderSlot};
use crate::os::netlink::Mac;
use crate::readable;

/// The version of the messages; a change that the reader of the version before cannot read makes
/// a new one.
pub(crate) const PROTOCOL: u32 = 5;
/// The oldest version that is still read: before it, no flow ended before its trial.
const OLDEST_PROTOCOL: u32 = 4;

/// The version that both ends can speak: a reader of version n reads n and n−1.
pub(crate) fn common_protocol(ours: u32, theirs: u32) -> Option<u32> {
    let common = ours.min(theirs);
    (common >= OLDEST_PROTOCOL && ours.abs_diff(theirs) <= 1).then_some(common)
}

/// The first message of either end, and the only one that all versions must be able to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) protocol: u32,
}

/// The near end's second message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) token: [u8; 16],
}

/// The far end's second message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Admission {
    Welcome {
        #[serde(deserialize_with = "readable::facts")]
        facts: HostFacts,
        /// Of the interface that the near end has reached.
        interface_mtu_bytes: Option<u32>,
        /// That interface's address of the other family, at which flows of that family are awaited.
        #[serde(default)]
        other_address: Option<IpAddr>,
        /// Where heartbeats by UDP are awaited.
        pulse: Option<FlowAddress>,
    },
    WrongToken {},
    Full {
        sessions: usize,
    },
}

/// Everything after the admission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Message {
    /// Near to far, four times a second: the heartbeat, and the question of an exchange of clocks.
    Ping { sent_ns: u64 },
    /// Far to near, at once.
    Pong { sent_ns: u64, received_ns: u64, answered_ns: u64 },
    /// Far to near where it has said nothing else for a while.
    Pulse {},
    /// Near to far: open what this trial needs.
    Prepare {
        trial: u64,
        spec: Trial,
        /// How long the trial goes on though the near end is silent. A sender of the far end pauses
        /// until it hears the near end again.
        #[serde(default, skip_serializing_if = "is_zero")]
        patience_ms: u64,
    },
    /// Far to near: an address for each flow.
    Ready { trial: u64, doors: Vec<FlowAddress> },
    /// Near to far: begin at this instant of the far end's clock.
    Start { trial: u64, at_ns: u64 },
    /// Far to near, about seven times a second for each flow.
    Progress { trial: u64, flow: usize, stretch: usize, seen: Seen },
    /// Far to near: its half of each flow.
    Done {
        trial: u64,
        halves: Vec<Half>,
        health: TesterHealth,
        /// When the far end did not hear the near end, in a trial that was to go on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        silences: Vec<Interruption>,
        /// The most trials of other near ends that ran at the far end at one time during this one.
        #[serde(default, skip_serializing_if = "is_zero")]
        other_trials: u32,
    },
    /// Far to near: a sentence on why there will be no result.
    Failed {
        trial: u64,
        #[serde(deserialize_with = "readable::words")]
        reason: String,
        /// Whether only the near end's heartbeats were missing, so that it can be tried again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unheard: bool,
    },
    /// Near to far: have the connections of all flows in this direction end, by resets if it is an
    /// abort, and tell of what there was until then. Who opens them is told first.
    WindDown { trial: u64, direction: Direction, is_abort: bool },
    /// Near to far: end the trial now.
    Stop { trial: u64 },
    /// Either end: the session is over, for a reason worth telling.
    Bye {
        #[serde(deserialize_with = "readable::words")]
        reason: String,
    },
}

/// In the form that serde asks for.
fn is_zero<Count: Default + PartialEq>(count: &Count) -> bool {
    *count == Count::default()
}

/// Where the near end finds a flow or sends its heartbeats by UDP, and by which key it is known there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowAddress {
    pub(crate) port: u16,
    pub(crate) key: FlowKey,
    /// Of many connections alone, which have no port of a socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) frames: Option<FramesDoor>,
}

/// How the far end takes frames of many connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FramesDoor {
    /// Where, for whoever is on the same link.
    pub(crate) mac: Mac,
    /// Into how many parts both ends cut the load.
    pub(crate) shards: u16,
}

/// What one end saw of a flow during a few slots.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Seen {
    Sent(SenderSlot),
    Received(ReceiverSlot),
    /// Of many connections, by the end that opened them.
    Client(ConnectionsSlot),
    /// By the other one.
    Server(ConnectionsSlot),
}

/// Why bytes are no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MessageError {
    #[error("a message of {bytes} bytes, where {max_bytes} are allowed")]
    TooLong { bytes: usize, max_bytes: usize },
    #[error("a message nested deeper than {NESTING_MAX} levels")]
    TooDeep,
    #[error("an unknown message: {0}")]
    Unknown(String),
}

/// The longest message until the near end has shown its token.
pub(crate) const UNKNOWN_PEER_MAX_BYTES: usize = 4 << 10;
/// The longest message to a far end.
pub(crate) const TO_FAR_MAX_BYTES: usize = 1 << 20;
/// The longest message to a near end: the halves of a trial. Flows of frames that lost some in each
/// of eight million seconds need 8,000,000 · 18 bytes, 256 flows of 2,401 slots as many · 120.
pub(crate) const TO_NEAR_MAX_BYTES: usize = 256 << 20;
/// A trial with steps of pace needs eight.
const NESTING_MAX: usize = 8;
const PREFIX_BYTES: usize = 4;

/// A message as it travels: its length in four bytes, then its JSON.
pub(crate) fn encode<M: Serialize>(message: &M) -> Result<Vec<u8>, MessageError> {
    let mut framed = vec![0; PREFIX_BYTES];
    serde_json::to_writer(&mut framed, message)
        .map_err(|error| MessageError::Unknown(error.to_string()))?;
    let bytes = framed.len() - PREFIX_BYTES;
    let prefix = u32::try_from(bytes)
        .map_err(|_| MessageError::TooLong { bytes, max_bytes: TO_NEAR_MAX_BYTES })?;
    framed[..PREFIX_BYTES].copy_from_slice(&prefix.to_be_bytes());
    Ok(framed)
}

pub(crate) fn decode<M: DeserializeOwned>(json: &[u8]) -> Result<M, MessageError> {
    if nesting(json) > NESTING_MAX {
        return Err(MessageError::TooDeep);
    }
    // The error quotes what it did not understand.
    serde_json::from_slice(json)
        .map_err(|error| MessageError::Unknown(readable::readable(&error.to_string())))
}

/// The deepest nesting of arrays and objects.
fn nesting(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b'{' | b'[') => depth += 1,
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Finds the messages in a stream of bytes; it holds what has arrived, never what was announced.
#[derive(Debug)]
pub(crate) struct Inbox {
    arrived: Vec<u8>,
    max_bytes: usize,
}

impl Inbox {
    pub(crate) const fn new(max_bytes: usize) -> Self {
        Self { arrived: Vec::new(), max_bytes }
    }

    pub(crate) const fn allow(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
    }

    /// How many bytes it takes before a message must be read: the longest one fits.
    pub(crate) const fn room(&self) -> usize {
        PREFIX_BYTES.saturating_add(self.max_bytes).saturating_sub(self.arrived.len())
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.arrived.extend_from_slice(bytes);
    }

    /// The JSON of the next whole message.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, MessageError> {
        let Some((prefix, rest)) = self.arrived.split_first_chunk::<PREFIX_BYTES>() else {
            return Ok(None);
        };
        let (bytes, max_bytes) = (u32::from_be_bytes(*prefix) as usize, self.max_bytes);
        if bytes > max_bytes {
            return Err(MessageError::TooLong { bytes, max_bytes });
        }
        if rest.len() < bytes {
            return Ok(None);
        }
        let json = rest[..bytes].to_vec();
        self.arrived.drain(..PREFIX_BYTES + bytes);
        Ok(Some(json))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fp_model::{
        Dscp, Family, FlowSpec, FrameSizes, FramesLoad, Load, Pace, Rate, Step, Timing,
    };
    use proptest::prelude::*;

    use super::*;

    fn prepare() -> Message {
        let step = Step { rate: Rate::mbps(40), lasts: Duration::from_secs(1) };
        let pace = Pace::Steps { steps: vec![step; 3] };
        let load = Load::Frames(FramesLoad::new(FrameSizes::fixed(1518), pace));
        let flow = FlowSpec::new(Direction::Upload, Family::Ipv6, Dscp::BEST_EFFORT, load);
        let timing = Timing {
            warm_up: Duration::from_secs(1),
            steady: Duration::from_secs(2),
            settle: Duration::from_millis(100),
        };
        let spec = Trial { name: "a [name] {with} \\ \"all\"".into(), flows: vec![flow], timing };
        Message::Prepare { trial: 7, spec, patience_ms: 0 }
    }

    #[test]
    fn the_deepest_trial_is_read_as_it_was_written() {
        let framed = encode(&prepare()).unwrap();
        assert_eq!(decode::<Message>(&framed[4..]), Ok(prepare()));
        assert_eq!(nesting(&framed[4..]), NESTING_MAX);
    }

    #[test]
    fn the_longest_half_of_frames_is_read_as_it_was_written() {
        use crate::half::FramesReceiverHalf;
        // As many as may last that long.
        const FLOWS_MAX: usize = 8_000_000 / 172_800;
        let frames = fp_net::stream::ReceivedFrames {
            // Two days, each second of which lost a tenth of 10 million frames.
            missing_in_seconds: (0..172_800).map(|second| (second, 1_000_000)).collect(),
            delay: Some(fp_net::stream::DelayStatistics { min_ns: -1, ..Default::default() }),
            ..Default::default()
        };
        let half = FramesReceiverHalf { frames, ..FramesReceiverHalf::default() };
        let half = Half::FramesReceiver(Box::new(half));
        let framed = encode(&half).unwrap();
        assert!(framed.len() * FLOWS_MAX < TO_NEAR_MAX_BYTES, "{}", framed.len());
        assert_eq!(decode::<Half>(&framed[4..]), Ok(half));
    }

    #[test]
    fn the_deepest_half_is_read_as_it_was_written() {
        let mut frames = fp_net::stream::SentFrames::default();
        frames.gaps.lateness.log2_bins_us = vec![1, 2];
        let half = crate::half::FramesSenderHalf { frames, ..Default::default() };
        let halves = vec![Half::FramesSender(Box::new(half))];
        let health = TesterHealth::default();
        let done =
            Message::Done { trial: 1, halves, health, silences: Vec::new(), other_trials: 2 };
        let framed = encode(&done).unwrap();
        assert_eq!(decode::<Message>(&framed[4..]), Ok(done));
    }

    /// A near end that does not know the count refuses the whole message.
    #[test]
    fn a_trial_that_ran_alone_is_told_without_a_count_of_others() {
        let (halves, health) = (Vec::new(), TesterHealth::default());
        let done =
            Message::Done { trial: 1, halves, health, silences: Vec::new(), other_trials: 0 };
        let framed = encode(&done).unwrap();
        assert!(!String::from_utf8_lossy(&framed[4..]).contains("other_trials"));
        assert_eq!(decode::<Message>(&framed[4..]), Ok(done));
    }

    #[test]
    fn a_fixed_length_travels_as_a_number_and_a_mix_as_a_list() {
        let json = |sizes: &FrameSizes| serde_json::to_string(sizes).unwrap();
        let mix = FrameSizes::new(vec![64, 570, 1518]).unwrap();
        assert_eq!(json(&FrameSizes::fixed(64)), "64");
        assert_eq!(json(&mix), "[64,570,1518]");
        assert_eq!(decode::<FrameSizes>(b"64"), Ok(FrameSizes::fixed(64)));
        assert_eq!(decode::<FrameSizes>(b"[64,570,1518]"), Ok(mix));
        for refused in ["[]", "0", "[64,0]", &format!("[{}1]", "64,".repeat(64)), "\"64\""] {
            assert!(decode::<FrameSizes>(refused.as_bytes()).is_err(), "{refused}");
        }
    }

    #[test]
    fn unknown_fields_unknown_messages_and_deep_nesting_are_refused() {
        for json in [
            r#"{"message":"pulse","more":1}"#,
            r#"{"message":"dance"}"#,
            r#"{"message":"ping","sent_ns":-1}"#,
            r#"{"message":"ping","sent_ns":"1"}"#,
            r#"{"message":"start","trial":1}"#,
            "[]",
            "",
        ] {
            assert!(matches!(decode::<Message>(json.as_bytes()), Err(MessageError::Unknown(_))));
        }
        let deep = "[".repeat(60_000);
        assert_eq!(decode::<Message>(deep.as_bytes()), Err(MessageError::TooDeep));
    }

    #[test]
    fn words_of_the_peer_neither_break_a_line_nor_steer_a_terminal() {
        let escape = r#""gone\n\u001b[2J\u001b]0;x\u0007\u009b1m\u202eok""#;
        let plain = "gone[2J]0;x1mok";
        let bye = decode(format!(r#"{{"message":"bye","reason":{escape}}}"#).as_bytes());
        assert_eq!(bye, Ok(Message::Bye { reason: plain.to_owned() }));
        let facts = format!(r#"{{"name":{escape},"kernel":"x","processors":1,"version":"x"}}"#);
        let welcome = format!(
            r#"{{"entry":"welcome","facts":{facts},"interface_mtu_bytes":null,"pulse":null}}"#
        );
        let Ok(Admission::Welcome { facts, .. }) = decode(welcome.as_bytes()) else { panic!() };
        assert_eq!(facts.name, plain);
        let unknown = decode::<Message>(format!(r#"{{"message":{escape}}}"#).as_bytes());
        let Err(MessageError::Unknown(quote)) = unknown else { panic!("{unknown:?}") };
        assert!(quote.contains(plain) && !quote.contains(char::is_control), "{quote}");
    }

    #[test]
    fn an_announced_length_above_the_limit_is_refused_before_anything_is_stored() {
        let mut inbox = Inbox::new(4096);
        inbox.push(&4097_u32.to_be_bytes());
        assert_eq!(inbox.next(), Err(MessageError::TooLong { bytes: 4097, max_bytes: 4096 }));
        let mut inbox = Inbox::new(usize::MAX);
        inbox.push(&u32::MAX.to_be_bytes());
        assert_eq!(inbox.next(), Ok(None));
        assert!(inbox.arrived.capacity() < 100);
    }

    #[test]
    fn a_reader_of_a_version_reads_it_and_the_one_before() {
        assert_eq!(common_protocol(4, 4), Some(4));
        assert_eq!(common_protocol(5, 4), Some(4));
        assert_eq!(common_protocol(4, 5), Some(4));
        assert_eq!(common_protocol(4, 6), None);
        assert_eq!(common_protocol(4, 3), None);
        assert_eq!(common_protocol(4, 0), None);
        assert_eq!(common_protocol(4, u32::MAX), None);
    }

    proptest! {
        #[test]
        fn messages_arrive_whole_however_the_stream_is_cut(
            lengths in prop::collection::vec(0_usize..300, 0..8),
            cuts in prop::collection::vec(1_usize..200, 1..40),
        ) {
            let sent: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
            let stream: Vec<u8> =
                sent.iter().flat_map(|text| encode(text).unwrap()).collect();
            let mut inbox = Inbox::new(4096);
            let (mut arrived, mut at) = (Vec::new(), 0);
            for cut in cuts.iter().cycle() {
                if at == stream.len() {
                    break;
                }
                let end = (at + cut).min(stream.len());
                inbox.push(&stream[at..end]);
                at = end;
                while let Some(json) = inbox.next().unwrap() {
                    arrived.push(decode::<String>(&json).unwrap());
                }
            }
            prop_assert_eq!(arrived, sent);
            prop_assert!(inbox.arrived.is_empty());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let mut inbox = Inbox::new(512);
            inbox.push(&bytes);
            while let Ok(Some(json)) = inbox.next() {
                let _ = decode::<Message>(&json);
            }
        }

        #[test]
        fn a_damaged_message_is_read_or_refused(
            places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut json = encode(&prepare()).unwrap().split_off(4);
            for (place, byte) in places {
                let at = place.index(json.len());
                json[at] = byte;
            }
            if let Ok(message) = decode::<Message>(&json) {
                let framed = encode(&message).unwrap();
                prop_assert_eq!(decode::<Message>(&framed[4..]), Ok(message));
            }
        }
    }
}
