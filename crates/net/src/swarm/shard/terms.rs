//! What all connections of a shard have in common.

use core::ops::RangeInclusive;
use core::time::Duration;

use fp_model::{Close, ConnectionsLoad, Family, Time};

use crate::checksum::{Addresses, Peer};
use crate::link::random::SplitMix64;
use crate::packet::{Envelope, HOP_LIMIT, Link};
use crate::pattern::Pattern;
use crate::swarm::mix::Mix;
use crate::swarm::outbox::Outbox;
use crate::swarm::place::Place;
use crate::swarm::plan::{AddressPlan, Pair, PlanError};
use crate::swarm::shard::{Role, Setting, SettingError};
use crate::swarm::table::{self, Table};
use crate::tcp::connection::{State, Transmit};
use crate::tcp::{Algorithm, Connection, Extensions, Header, Nagle, Profile};
use crate::tcp::{MSS_DEFAULT_IPV4, MSS_DEFAULT_IPV6};

#[derive(Debug)]
pub(super) struct Terms {
    pub(super) role: Role,
    pub(super) profile: Profile,
    pub(super) plan: AddressPlan,
    pub(super) mix: Mix,
    pub(super) sizes: Sizes,
    pub(super) link: Link,
    pub(super) peer: Peer,
    pub(super) secret: u128,
    pub(super) start: Time,
    pub(super) is_translated: bool,
    pub(super) close: Close,
    lifetime_ticks: Option<u32>,
    traffic_class: u8,
    seed: u64,
}

/// How many places there are, and how many address pairs each has in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) places: u32,
    pub(super) turns: u16,
}

/// The announcement has to fit a segment, with timestamps.
pub(super) const MSS_BYTES: RangeInclusive<u32> = 64..=65_495;
/// RFC 7323 section 2.2: a window is at most 1 GiB.
pub(super) const WINDOW_BYTES: RangeInclusive<u32> = 1..=1 << 30;
/// Half of what the wheel can tell apart.
const LIFETIME: RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(24 * 86_400);
pub(super) const PLACES_MAX: u32 = 1 << 30;
/// A connection opens and the one before it closes within so long, or connections live longer than
/// they should: two round trips, and time to spare.
const RENEWAL_MAX: Duration = Duration::from_millis(200);
const SPARE_SHARE: u32 = 32;
const SPARE_MIN: u32 = 16;
/// What a client tells of itself before all else where its addresses are translated: its number, and
/// a proof that it is of the same load.
pub(super) const ANNOUNCEMENT_BYTES: u32 = 8;
/// An application writes ahead of the network by so much at least.
const BACKLOG_BYTES: u32 = 1 << 16;

impl Sizes {
    pub(super) fn new(load: &ConnectionsLoad, family: Family) -> Result<Self, SettingError> {
        let plan = AddressPlan::new(&load.addresses, family)?;
        Self::within(load, &plan)
    }

    fn within(load: &ConnectionsLoad, plan: &AddressPlan) -> Result<Self, SettingError> {
        let (peak, fit) = (load.connections_peak(), plan.connections());
        if peak == 0 {
            return Err(SettingError::Stages);
        }
        plan.check(peak)?;
        if peak > PLACES_MAX {
            return Err(SettingError::Places(peak));
        }
        let places = if let Some(lifetime) = load.lifetime {
            let wanted = peak * 2;
            if wanted > fit {
                return Err(PlanError::TooFewToRenew { wanted, fit }.into());
            }
            (peak + spare_places(peak, lifetime)).min(fit / 2)
        } else {
            peak
        };
        let turns = u16::try_from(fit / places).unwrap_or(u16::MAX);
        Ok(Self { places, turns })
    }
}

/// Places for those that take the stead of others: as many as do so in the time that it takes.
fn spare_places(peak: u32, lifetime: Duration) -> u32 {
    let renewed = u128::from(peak) * RENEWAL_MAX.as_nanos() / lifetime.as_nanos().max(1);
    let renewed = u32::try_from(renewed).unwrap_or(u32::MAX);
    renewed.max(peak / SPARE_SHARE).max(SPARE_MIN).min(peak.max(SPARE_MIN))
}

impl Terms {
    pub(super) fn new(setting: Setting) -> Result<Self, SettingError> {
        let Setting { role, load, family, dscp, link, peer, seed, secret, start } = setting;
        let plan = AddressPlan::new(&load.addresses, family)?;
        let sizes = Sizes::within(&load, &plan)?;
        let is_translated = load.addresses.translated;
        if is_translated && plan.servers() > table::SERVERS_MAX {
            return Err(SettingError::TranslatedServers(plan.servers()));
        }
        if load.lifetime.is_some_and(|lifetime| !LIFETIME.contains(&lifetime)) {
            return Err(SettingError::Lifetime);
        }
        Ok(Self {
            role,
            profile: profile(&load, family)?,
            plan,
            mix: Mix::new(&load.mix)?,
            sizes,
            link,
            peer,
            secret,
            start,
            is_translated,
            close: load.close,
            lifetime_ticks: load.lifetime.map(|lifetime| lifetime.as_millis() as u32),
            traffic_class: dscp.traffic_class(),
            seed,
        })
    }

    /// The place of a connection, and which of its address pairs it is.
    pub(super) fn place_of(&self, number: u32) -> Option<(u32, u16)> {
        let (turn, index) = (number / self.sizes.places, number % self.sizes.places);
        let turn = u16::try_from(turn).ok().filter(|turn| *turn < self.sizes.turns)?;
        Some((index, turn))
    }

    pub(super) const fn number_at(&self, index: u32, turn: u16) -> u32 {
        turn as u32 * self.sizes.places + index
    }

    /// What the frames of a place bear whose turn this is.
    pub(super) fn pair_of(&self, table: Option<&Table>, index: u32, turn: u16) -> Pair {
        let pair = match table {
            Some(table) => table.pair(&self.plan, index, turn),
            None => self.plan.pair(self.number_at(index, turn)),
        };
        self.as_sent_here(&pair)
    }

    /// Of the pair as the client sees it, what the frames of this end bear.
    pub(super) const fn as_sent_here(&self, pair: &Pair) -> Pair {
        match self.role {
            Role::Client => *pair,
            Role::Server => pair.reversed(),
        }
    }

    /// The server takes a reset for what it is where connections are closed so.
    pub(super) const fn is_closed_by_reset(&self) -> bool {
        matches!((self.role, self.close), (Role::Server, Close::Reset))
    }

    /// In ticks.
    pub(super) fn lifetime_due(&self, place: &Place) -> Option<u32> {
        let is_open = place.phase == crate::swarm::place::Phase::Open;
        let lifetime = self.lifetime_ticks.filter(|_| is_open && self.role == Role::Client)?;
        Some(place.since.wrapping_add(lifetime))
    }

    /// Nothing is left to send or to wait for. TIME-WAIT is not waited out: the next connection of
    /// the place has other ports, or a later clock in its timestamps and sequence numbers, and a peer
    /// who has not heard our last word is answered by a reset.
    pub(super) fn is_done(&self, connection: &Connection) -> bool {
        matches!(connection.state(), State::Closed | State::TimeWait)
    }

    pub(super) fn backlog_bytes(&self) -> u64 {
        BACKLOG_BYTES.max(self.profile.window_bytes).into()
    }

    /// Writes a segment of a connection to `outbox`, which has room.
    pub(super) fn push(
        &self,
        pair: &Pair,
        number: Option<u32>,
        transmit: &Transmit,
        outbox: &mut Outbox,
    ) {
        let envelope = self.envelope(pair.addresses, transmit.ecn.code_point());
        let payload_bytes = transmit.payload_bytes as usize;
        outbox.push(|frame| {
            let fill = |payload: &mut [u8]| {
                if let Some(number) = number {
                    self.write_payload(number, transmit.position, payload);
                }
            };
            envelope.write(pair.ports, &transmit.header, payload_bytes, fill, frame)
        });
    }

    /// Of Ethernet and IP.
    pub(super) const fn headers_bytes(&self, pair: &Pair) -> usize {
        self.envelope(pair.addresses, 0).headers_bytes()
    }

    /// Answers a segment of no connection.
    pub(super) fn push_reset(&self, pair: &Pair, header: &Header, outbox: &mut Outbox) {
        let envelope = self.envelope(pair.addresses, 0);
        outbox.push(|frame| envelope.write(pair.ports, header, 0, |_| {}, frame));
    }

    const fn envelope(&self, addresses: Addresses, ecn: u8) -> Envelope {
        let traffic_class = self.traffic_class | ecn;
        Envelope { link: self.link, addresses, traffic_class, hop_limit: HOP_LIMIT }
    }

    fn write_payload(&self, number: u32, position: u64, payload: &mut [u8]) {
        self.pattern(self.role, number).fill(position, payload);
        if self.is_translated && self.role == Role::Client {
            let announcement = self.announcement(number);
            for (at, byte) in (position..u64::from(ANNOUNCEMENT_BYTES)).zip(payload) {
                *byte = announcement[at as usize];
            }
        }
    }

    /// Whether this is what the peer was to send there.
    pub(super) fn is_right(&self, number: u32, position: u64, payload: &[u8]) -> bool {
        let peer = match self.role {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        };
        let skip = match (self.is_translated, peer) {
            (true, Role::Client) => u64::from(ANNOUNCEMENT_BYTES).saturating_sub(position),
            (true, Role::Server) | (false, _) => 0,
        };
        let Some(rest) = payload.get(skip as usize..) else { return true };
        self.pattern(peer, number).matches(position + skip, rest)
    }

    pub(super) fn announcement(&self, number: u32) -> [u8; ANNOUNCEMENT_BYTES as usize] {
        let proof = SplitMix64::at(self.seed ^ u64::from(number), 0).next() as u32;
        (u64::from(number) << 32 | u64::from(proof)).to_be_bytes()
    }

    /// Of the stream of one direction.
    fn pattern(&self, sender: Role, number: u32) -> Pattern {
        let direction = match sender {
            Role::Client => 0,
            Role::Server => 1,
        };
        let place = u64::from(number) << 1 | direction;
        Pattern::new(SplitMix64::at(self.seed, place).next())
    }
}

fn profile(load: &ConnectionsLoad, family: Family) -> Result<Profile, SettingError> {
    let mss_bytes = u16::try_from(load.mss_bytes).ok();
    let mss_bytes = mss_bytes.filter(|_| MSS_BYTES.contains(&load.mss_bytes));
    if !WINDOW_BYTES.contains(&load.window_bytes) {
        return Err(SettingError::Window(load.window_bytes));
    }
    Ok(Profile {
        mss_bytes: mss_bytes.ok_or(SettingError::Segment(load.mss_bytes))?,
        mss_default_bytes: match family {
            Family::Ipv4 => MSS_DEFAULT_IPV4,
            Family::Ipv6 => MSS_DEFAULT_IPV6,
        },
        window_bytes: load.window_bytes,
        algorithm: Algorithm::Cubic,
        extensions: Extensions { timestamps: true, window_scaling: true, sack: true, ecn: false },
        // A request is to leave when it is asked.
        nagle: Nagle::Off,
        retransmissions_max: load.retransmissions_max,
        syn_retransmissions_max: load.syn_retransmissions_max,
        ..Profile::default()
    })
}
