//! One end of a connection, its clock, and what it has sent.

use std::collections::VecDeque;
use std::time::Duration;

use fp_model::{Ecn, Time};
use fp_net::tcp::connection::{Arrival, Connection, End, Reaction, Transmit};
use fp_net::tcp::{
    Algorithm, Extensions, Flags, Header, MSS_DEFAULT_IPV6, Nagle, Options, Profile, Sacks,
    Sequence, Timestamps,
};

use super::command::{Named, number, parse};

/// No clock begins at zero.
const START: Time = Time::from_nanos(10_000_000_000);
const MILLISECOND: Duration = Duration::from_millis(1);

pub(super) struct Stage {
    profile: Profile,
    /// Where our sequence numbers and the peer's begin.
    own: Sequence,
    peer: Sequence,
    /// What the peer offers in the handshakes that scripts leave out.
    peer_window: u16,
    peer_mss: u16,
    peer_scale: u8,
    connection: Option<Connection>,
    now: Time,
    sent: VecDeque<(Time, Transmit)>,
    received_bytes: u64,
    is_established: bool,
    peer_closed: bool,
    end: Option<End>,
}

impl Default for Stage {
    fn default() -> Self {
        let extensions =
            Extensions { timestamps: false, window_scaling: false, sack: false, ecn: false };
        Self {
            profile: Profile { extensions, ..Profile::default() },
            own: Sequence::new(1_000_000),
            peer: Sequence::new(5_000_000),
            peer_window: 65_535,
            peer_mss: 1460,
            peer_scale: 0,
            connection: None,
            now: START,
            sent: VecDeque::new(),
            received_bytes: 0,
            is_established: false,
            peer_closed: false,
            end: None,
        }
    }
}

impl Stage {
    pub(super) fn act(&mut self, line: &str) -> Result<(), String> {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        if let Some(wait) = words[0].strip_prefix('+') {
            self.wait(MILLISECOND * number(wait)?);
            words.remove(0);
        }
        let Some((&verb, rest)) = words.split_first() else { return Ok(()) };
        if verb != ">" {
            self.expect_silence()?;
        }
        match (verb, rest) {
            (">", rest) => self.expect(&parse(rest)?),
            ("<", rest) => self.arrive(&parse(rest)?),
            ("profile", rest) => rest.iter().try_for_each(|word| self.set(word)),
            ("established", []) => self.establish(),
            ("listen", []) => Ok(()),
            ("open", []) => {
                self.connection = Some(Connection::open(self.own));
                self.send();
                Ok(())
            }
            ("quiet", [wait]) => {
                self.wait(MILLISECOND * number(wait)?);
                self.expect_silence()
            }
            (verb, rest) => self.use_or_look(verb, rest),
        }
    }

    pub(super) fn expect_silence(&self) -> Result<(), String> {
        match self.sent.front() {
            None => Ok(()),
            Some((at, transmit)) => Err(format!("before it left {}", self.tell(*at, transmit))),
        }
    }

    fn use_or_look(&mut self, verb: &str, rest: &[&str]) -> Result<(), String> {
        let connection = self.connection.as_mut().ok_or("there is no connection yet")?;
        let state = format!("{:?}", connection.state());
        match (verb, rest) {
            ("send", [bytes]) => {
                let taken = connection.send(self.now, &self.profile, number(bytes)?.into());
                if taken != u64::from(number(bytes)?) {
                    return Err(format!("{taken} bytes were taken"));
                }
            }
            ("send", [bytes, "takes", taken]) => {
                let took = connection.send(self.now, &self.profile, number(bytes)?.into());
                same("taken", &took, &number(taken)?.into())?;
            }
            ("close", []) => connection.close(),
            ("abort", []) => connection.abort(),
            ("hold", []) => connection.hold(self.now, &self.profile),
            ("release", []) => connection.release(self.now),
            ("state", [want]) => same("state", &state.as_str(), want)?,
            ("work", [want]) => {
                let works = if connection.is_at_work() { "yes" } else { "no" };
                same("work", &works, want)?;
            }
            ("received", [want]) => same("received", &self.received_bytes, &number(want)?.into())?,
            ("opened", []) => same("established", &self.is_established, &true)?,
            ("peer-closed", []) => same("peer closed", &self.peer_closed, &true)?,
            ("end", [want]) => {
                let end = self.end.map_or("None".into(), |end| format!("{end:?}"));
                same("end", &end.as_str(), want)?;
            }
            _ => return Err("no such command".into()),
        }
        self.send();
        Ok(())
    }

    fn set(&mut self, word: &str) -> Result<(), String> {
        let (key, value) = word.split_once('=').ok_or("a setting is KEY=VALUE")?;
        let profile = &mut self.profile;
        let extensions = &mut profile.extensions;
        let is_on = value == "on";
        let parsed = || number(value);
        match key {
            "timestamps" => extensions.timestamps = is_on,
            "sack" => extensions.sack = is_on,
            "scaling" => extensions.window_scaling = is_on,
            "ecn" => extensions.ecn = is_on,
            "nagle" => profile.nagle = if is_on { Nagle::On } else { Nagle::Off },
            "reno" => profile.algorithm = Algorithm::Reno,
            "mss" => profile.mss_bytes = parsed()? as u16,
            "family" => profile.mss_default_bytes = MSS_DEFAULT_IPV6,
            "window" => profile.window_bytes = parsed()?,
            "retries" => profile.retransmissions_max = parsed()? as u8,
            "syn_retries" => profile.syn_retransmissions_max = parsed()? as u8,
            "msl" => profile.maximum_segment_lifetime = MILLISECOND * parsed()?,
            "fin_wait_2" => profile.fin_wait_2 = Some(MILLISECOND * parsed()?),
            "rto_margin" => profile.rto_margin_min = MILLISECOND * parsed()?,
            "own" => self.own = Sequence::new(parsed()?),
            "peer" => self.peer = Sequence::new(parsed()?),
            "peer_window" => self.peer_window = parsed()? as u16,
            "peer_mss" => self.peer_mss = parsed()? as u16,
            "peer_scale" => self.peer_scale = parsed()? as u8,
            _ => return Err(format!("there is no setting `{key}`")),
        }
        Ok(())
    }

    /// A handshake that the peer begins, with a round trip of 8 ms: the timeout is 208 ms then.
    fn establish(&mut self) -> Result<(), String> {
        let Extensions { timestamps, window_scaling, sack, ecn } = self.profile.extensions;
        let syn = Named {
            flags: Flags::SYN.with(Flags::ECE, ecn).with(Flags::CWR, ecn),
            window: Some(self.peer_window),
            mss: Some(self.peer_mss),
            scale: window_scaling.then_some(self.peer_scale),
            sack_permitted: sack,
            timestamps: timestamps.then_some((100, 0)),
            ..Named::default()
        };
        self.arrive(&syn)?;
        self.expect(&Named {
            flags: (Flags::SYN | Flags::ACK).with(Flags::ECE, ecn),
            ..Named::default()
        })?;
        self.wait(MILLISECOND * 8);
        self.arrive(&Named {
            flags: Flags::ACK,
            sequence: 1,
            ack: Some(1),
            timestamps: timestamps.then_some((100, 0)),
            ..Named::default()
        })
    }

    fn arrive(&mut self, named: &Named) -> Result<(), String> {
        let header = self.header(named);
        let Some(connection) = &mut self.connection else {
            self.connection = Connection::passive(&self.profile, self.own, &header);
            self.send();
            return Ok(());
        };
        let ecn = if named.is_marked { Ecn::Ce } else { Ecn::NotEct };
        let arrival = Arrival { header: &header, payload_bytes: named.payload_bytes, ecn };
        let reaction = connection.on_segment(self.now, &self.profile, &arrival);
        if let Some(placed) = reaction.payload {
            let position = named.sequence.wrapping_add(placed.skip).wrapping_sub(1);
            same("place of payload", &(placed.position as u32), &position)?;
            if placed.skip + placed.payload_bytes > named.payload_bytes {
                return Err(format!("{placed:?} is more than has arrived"));
            }
        }
        self.note(reaction);
        self.send();
        Ok(())
    }

    fn note(&mut self, reaction: Reaction) {
        if let Some(header) = reaction.reply {
            let reply =
                Transmit { header, position: 0, payload_bytes: 0, ecn: Ecn::NotEct, resent: None };
            self.sent.push_back((self.now, reply));
        }
        self.received_bytes += reaction.received_bytes;
        self.is_established |= reaction.established;
        self.peer_closed |= reaction.peer_closed;
        self.end = self.end.or(reaction.end);
    }

    fn send(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        while let Some(transmit) = connection.poll_transmit(self.now, &self.profile) {
            self.sent.push_back((self.now, transmit));
        }
    }

    fn wait(&mut self, wait: Duration) {
        let until = self.now + wait;
        for _ in 0..10_000 {
            let Some(connection) = &mut self.connection else { break };
            let Some(at) = connection.poll_timeout(self.now).filter(|at| *at <= until) else {
                break;
            };
            self.now = self.now.max(at);
            let reaction = connection.on_timeout(self.now, &self.profile);
            self.note(reaction);
            self.send();
        }
        self.now = until;
    }

    fn header(&self, named: &Named) -> Header {
        let mut sacks = Sacks::default();
        for (start, end) in &named.sacks {
            sacks.push(self.own.plus(*start), self.own.plus(*end));
        }
        Header {
            sequence: self.peer.plus(named.sequence),
            acknowledgement: self.own.plus(named.ack.unwrap_or_default()),
            flags: named.flags,
            window: named.window.unwrap_or(self.peer_window),
            options: Options {
                mss: named.mss,
                window_scale: named.scale,
                sack_permitted: named.sack_permitted,
                timestamps: named
                    .timestamps
                    .map(|(value, echo)| Timestamps { value, echo: self.own_timestamp(echo) }),
                sacks,
            },
        }
    }

    fn own_timestamp(&self, script_ms: u32) -> u32 {
        let start_ms = (START.as_nanos() / 1_000_000) as u32;
        self.own.get().wrapping_add(start_ms).wrapping_add(script_ms)
    }

    fn expect(&mut self, want: &Named) -> Result<(), String> {
        let (at, transmit) = self.sent.pop_front().ok_or("nothing has left")?;
        let got = self.named(&transmit, want);
        let mut want = want.clone();
        want.is_bare = false;
        if got != want || at != self.now {
            return Err(format!("there left {}", self.tell(at, &transmit)));
        }
        Ok(())
    }

    /// A segment of ours, with what the script looks at.
    fn named(&self, transmit: &Transmit, want: &Named) -> Named {
        let Header { options, .. } = transmit.header;
        let seen = self.name(transmit);
        let looks_at_options =
            want.is_bare || transmit.header.flags.has(Flags::SYN) && want.mss.is_some();
        Named {
            ack: seen.ack.filter(|_| want.ack.is_some()),
            window: seen.window.filter(|_| want.window.is_some()),
            mss: seen.mss.filter(|_| want.mss.is_some() || looks_at_options),
            scale: seen.scale.filter(|_| want.scale.is_some() || looks_at_options),
            sack_permitted: options.sack_permitted && (want.sack_permitted || looks_at_options),
            timestamps: seen.timestamps.filter(|_| want.timestamps.is_some() || looks_at_options),
            ..seen
        }
    }

    fn name(&self, transmit: &Transmit) -> Named {
        let Header { sequence, acknowledgement, flags, window, options } = transmit.header;
        let blocks = options.sacks.as_slice().iter();
        let from_peer = |sequence: Sequence| sequence.beyond(self.peer) as u32;
        Named {
            flags,
            sequence: sequence.beyond(self.own) as u32,
            payload_bytes: transmit.payload_bytes,
            ack: flags.has(Flags::ACK).then(|| from_peer(acknowledgement)),
            window: Some(window),
            mss: options.mss,
            scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options
                .timestamps
                .map(|ts| (ts.value.wrapping_sub(self.own_timestamp(0)), ts.echo)),
            sacks: blocks.map(|(start, end)| (from_peer(*start), from_peer(*end))).collect(),
            is_marked: transmit.ecn == Ecn::Ect0,
            is_bare: false,
        }
    }

    fn tell(&self, at: Time, transmit: &Transmit) -> String {
        let passed = at.since(START).as_secs_f64() * 1000.0;
        let now = self.now.since(START).as_millis();
        format!("at {passed} ms, now being {now}: {:?}", self.name(transmit))
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: &T, want: &T) -> Result<(), String> {
    if got == want { Ok(()) } else { Err(format!("{what} is {got:?}")) }
}
