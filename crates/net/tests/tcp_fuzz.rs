//! Whatever arrives, and whatever the application does, in any order: a connection survives it.

use std::time::Duration;

use fp_model::{Ecn, Time};
use fp_net::tcp::connection::{Arrival, Connection, State};
use fp_net::tcp::{
    Extensions, Flags, Header, Nagle, Options, Profile, Sacks, Sequence, Timestamps,
};
use proptest::collection::vec;
use proptest::prelude::*;

const OWN: Sequence = Sequence::new(u32::MAX - 3000);
const PEER: Sequence = Sequence::new(u32::MAX - 2000);
/// More than a window holds of the smallest segments.
const SEGMENTS_MAX: usize = 70_000;

#[derive(Clone, Debug)]
enum Deed {
    Arrive(Arriving),
    Wait(u64),
    /// To where the connection asks to be called.
    WaitForAlarm,
    Send(u32),
    Close,
    Abort,
    Hold,
    Release,
}

/// A segment whose numbers are near those that would be right.
#[derive(Clone, Debug)]
struct Arriving {
    flags: u8,
    sequence: i32,
    acknowledgement: i32,
    payload_bytes: u32,
    window: u16,
    options: Options,
    is_marked: bool,
}

fn any_arriving() -> impl Strategy<Value = Arriving> {
    let near = || prop_oneof![6 => -2..5000_i32, 1 => any::<i32>()];
    let payload = prop_oneof![3 => Just(0_u32), 3 => 1..3000_u32, 1 => 0..65_000_u32];
    let window = prop_oneof![Just(0_u16), 0..200_u16, Just(65_535), any::<u16>()];
    // Acknowledgements are what most segments are.
    let flags = prop_oneof![6 => Just(0x10_u8), 2 => Just(0x18), 1 => Just(0x11), 1 => Just(2),
        1 => Just(0x12), 1 => Just(4), 1 => any::<u8>()];
    (flags, near(), near(), payload, window, any_options(), any::<bool>()).prop_map(
        |(flags, sequence, acknowledgement, payload_bytes, window, options, is_marked)| Arriving {
            flags,
            sequence,
            acknowledgement,
            payload_bytes,
            window,
            options,
            is_marked,
        },
    )
}

fn any_options() -> impl Strategy<Value = Options> {
    let near = || prop_oneof![4 => 0..6000_u32, 1 => any::<u32>()];
    let blocks = vec((near(), near()), 0..5);
    let timestamps = proptest::option::of((0..50_u32, near()));
    (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), timestamps, blocks).prop_map(
        |(mss, window_scale, sack_permitted, timestamps, blocks)| {
            let mut sacks = Sacks::default();
            for (start, end) in blocks {
                sacks.push(OWN.plus(start), OWN.plus(end));
            }
            let echo = |echo: u32| OWN.get().wrapping_add(echo);
            let timestamps = timestamps.map(|(value, ago)| Timestamps { value, echo: echo(ago) });
            Options { mss, window_scale, sack_permitted, timestamps, sacks }
        },
    )
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let wait = prop_oneof![0..50_000_u64, 0..300_000_000_u64];
    prop_oneof![
        8 => any_arriving().prop_map(Deed::Arrive),
        2 => wait.prop_map(Deed::Wait),
        3 => Just(Deed::WaitForAlarm),
        3 => (0..20_000_u32).prop_map(Deed::Send),
        1 => Just(Deed::Close),
        1 => prop_oneof![9 => Just(Deed::Close), 1 => Just(Deed::Abort)],
        1 => Just(Deed::Hold),
        1 => Just(Deed::Release),
    ]
}

fn any_profile() -> impl Strategy<Value = Profile> {
    (any::<[bool; 5]>(), 64_u16..9000, 1_u32..100_000).prop_map(
        |([timestamps, window_scaling, sack, ecn, nagle], mss_bytes, window_bytes)| Profile {
            mss_bytes,
            window_bytes,
            extensions: Extensions { timestamps, window_scaling, sack, ecn },
            nagle: if nagle { Nagle::On } else { Nagle::Off },
            ..Profile::default()
        },
    )
}

struct Stage {
    profile: Profile,
    connection: Connection,
    now: Time,
}

impl Stage {
    fn act(&mut self, deed: &Deed) {
        let Self { profile, connection, now } = self;
        match deed {
            Deed::Arrive(arriving) => self.arrive(arriving),
            Deed::Wait(micros) => *now = *now + Duration::from_micros(*micros),
            Deed::WaitForAlarm => {
                *now = connection.poll_timeout(*now).map_or(*now, |at| at.max(*now))
            }
            Deed::Send(bytes) => {
                connection.send(*now, profile, u64::from(*bytes));
            }
            Deed::Close => connection.close(),
            Deed::Abort => connection.abort(),
            Deed::Hold => connection.hold(*now, profile),
            Deed::Release => connection.release(*now),
        }
        self.settle();
    }

    fn arrive(&mut self, arriving: &Arriving) {
        let number = |from: Sequence, offset: i32| from.plus(offset as u32);
        let mut flags = Flags::default();
        let all = [Flags::FIN, Flags::SYN, Flags::RST, Flags::PSH, Flags::ACK, Flags::URG];
        for (bit, flag) in all.into_iter().chain([Flags::ECE, Flags::CWR]).enumerate() {
            flags = flags.with(flag, arriving.flags >> bit & 1 == 1);
        }
        let header = Header {
            sequence: number(PEER, arriving.sequence),
            acknowledgement: number(OWN, arriving.acknowledgement),
            flags,
            window: arriving.window,
            options: arriving.options,
        };
        let ecn = if arriving.is_marked { Ecn::Ce } else { Ecn::NotEct };
        let payload_bytes = arriving.payload_bytes;
        let arrival = Arrival { header: &header, payload_bytes, ecn };
        let reaction = self.connection.on_segment(self.now, &self.profile, &arrival);
        if let Some(placed) = reaction.payload {
            assert!(placed.skip + placed.payload_bytes <= payload_bytes);
        }
        assert!(reaction.end.is_none() || self.connection.state() == State::Closed);
    }

    /// Lets everything happen that is due.
    fn settle(&mut self) {
        for _ in 0..100 {
            let is_due = |at: Option<Time>| at.is_some_and(|at| at <= self.now);
            if is_due(self.connection.poll_timeout(self.now)) {
                self.connection.on_timeout(self.now, &self.profile);
            }
            self.send();
            if self.connection.poll_timeout(self.now).is_none_or(|at| at > self.now) {
                return;
            }
        }
        panic!("it asks to be called again and again: {:?}", self.connection);
    }

    fn send(&mut self) {
        for _ in 0..SEGMENTS_MAX {
            let Some(transmit) = self.connection.poll_transmit(self.now, &self.profile) else {
                return;
            };
            let option_bytes = transmit.header.options.option_bytes();
            let mss = u32::from(self.profile.mss_bytes);
            assert!(transmit.payload_bytes + option_bytes <= mss.max(64), "{transmit:?}");
        }
        panic!("it sends without end: {:?}", self.connection);
    }
}

fn run(profile: Profile, is_active: bool, deeds: &[Deed]) {
    let connection = if is_active {
        Connection::open(OWN)
    } else {
        let options = Options {
            mss: Some(1460),
            window_scale: Some(3),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 1, echo: 0 }),
            ..Options::default()
        };
        let syn = Header {
            sequence: PEER,
            flags: Flags::SYN | Flags::ECE | Flags::CWR,
            window: 1000,
            options,
            ..Header::default()
        };
        Connection::passive(&profile, OWN, &syn).unwrap_or_else(|| panic!("it is a SYN"))
    };
    let mut stage = Stage { profile, connection, now: Time::from_nanos(1_000_000_007) };
    stage.settle();
    // Most deeds come to something only where there is a connection.
    let third = Arriving {
        flags: if is_active { 0x12 } else { 0x10 },
        sequence: i32::from(!is_active),
        acknowledgement: 1,
        payload_bytes: 0,
        window: 60_000,
        options: Options {
            mss: Some(1460),
            timestamps: Some(Timestamps { value: 1, echo: OWN.get() }),
            sack_permitted: is_active,
            ..Options::default()
        },
        is_marked: false,
    };
    stage.act(&Deed::Arrive(third));
    for deed in deeds {
        stage.act(deed);
    }
}

proptest! {
    #[test]
    fn a_connection_survives_whatever_comes(
        profile in any_profile(),
        is_active: bool,
        deeds in vec(any_deed(), 0..60),
    ) {
        run(profile, is_active, &deeds);
    }
}
