//! What shows, before any load, that frames to the plan's addresses reach the other end and nobody
//! else.
//!
//! The near end asks for connections whose first sequence number follows from the flow's key, at
//! addresses all over the plan. Whoever knows the key answers with another number that follows from
//! it. Nobody else can, and so no load is ever sent towards anybody else.
//!
//! All addresses are asked if there are at most 64; otherwise 64 spread from the first to the last.
//! The numbers are an HMAC. On one link frames go to the MAC address that the far end names over
//! the control connection. Through routers they go to the next hop of the plan's addresses, which
//! may be a default route only if it leads to the far end too. The far end replies to where the
//! proof came from, so paths there and back through different routers cannot carry such a trial.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use fp_model::{ConnectionsLoad, Time};
use fp_net::checksum::Peer;
use fp_net::packet::{Envelope, Frame, HOP_LIMIT, Link, MacAddress, Question, Segment, VlanTags};
use fp_net::swarm::{AddressPlan, Outbox, Pair, Role};
use fp_net::tcp::{Flags, Header, Sequence};
use ring::hmac;

use super::SwarmError;
use crate::Lease;
use crate::frame_io::{FrameBatch, FrameIo};
use crate::half::FlowKey;
use crate::os::clock;
use crate::os::netlink::Mac;

/// How often what was not answered is asked again.
const REPEAT: Duration = Duration::from_millis(50);
/// Of more addresses than this, so many all over the plan stand for all.
const QUESTIONS_MAX: u32 = 64;
const FRAMES_MAX: usize = 64;
/// Ethernet, IPv6 and TCP without options are 74 bytes, and an answer about a neighbour is longer.
const FRAME_BYTES_MAX: usize = Question::FRAME_BYTES_MAX;

/// One end's side of a plan, and the key of its flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub(super) plan: AddressPlan,
    /// Of this end.
    pub(super) role: Role,
    pub(super) key: FlowKey,
    pub(super) traffic_class: u8,
}

/// Who asks and answers for a side, by its port.
#[derive(Debug)]
pub(super) struct Prover<'a, Port> {
    pub(super) port: &'a mut Port,
    pub(super) side: Side,
}

/// The numbers that follow from a key, of the near end's question to one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    question: Sequence,
    answer: Sequence,
}

impl Numbers {
    /// Translators on the way change from whom a question comes, but not to whom it goes.
    fn of(key: &FlowKey, to: SocketAddr) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        let number = |what: &[u8]| {
            let mut context = hmac::Context::with_key(&key);
            context.update(what);
            match to.ip() {
                IpAddr::V4(address) => context.update(&address.octets()),
                IpAddr::V6(address) => context.update(&address.octets()),
            }
            context.update(&to.port().to_be_bytes());
            let tag = context.sign();
            let first = tag.as_ref().first_chunk().copied().unwrap_or_default();
            Sequence::new(u32::from_be_bytes(first))
        };
        Self { question: number(b"question"), answer: number(b"answer") }
    }
}

/// The near end's frames of the plan that are to be answered: to every address of the far end, or
/// to many of them, from addresses of this end in turn.
pub(super) fn questions(load: &ConnectionsLoad, plan: &AddressPlan, role: Role) -> Vec<Pair> {
    let (clients, servers) = (load.addresses.clients.count, load.addresses.servers.count);
    let (own, others) = match role {
        Role::Client => (clients, servers),
        Role::Server => (servers, clients),
    };
    let asked = others.min(QUESTIONS_MAX);
    let spread = |of: u32, k: u32| match asked {
        1 => 0,
        _ => (u64::from(of - 1) * u64::from(k) / u64::from(asked - 1)) as u32,
    };
    let number = |k: u32| {
        let (own, other) = (spread(own, k), spread(others, k));
        let (client, server) = match role {
            Role::Client => (own, other),
            Role::Server => (other, own),
        };
        // Successive numbers go to successive clients, then to the next server.
        u64::from(server) * u64::from(clients) + u64::from(client)
    };
    let last = u64::from(plan.connections() - 1);
    let pair = |k| plan.pair(number(k).min(last) as u32);
    let pairs = (0..asked).map(pair);
    match role {
        Role::Client => pairs.collect(),
        Role::Server => pairs.map(|pair| pair.reversed()).collect(),
    }
}

const fn target(pair: &Pair) -> SocketAddr {
    SocketAddr::new(pair.addresses.destination(), pair.ports.destination)
}

impl<Port: FrameIo> Prover<'_, Port> {
    /// Asks until all `questions` are answered; those that are not by the deadline are given.
    pub(super) fn ask(
        &mut self,
        to: Mac,
        questions: &[Pair],
        lease: &Lease,
        deadline: Time,
    ) -> Result<Vec<Pair>, SwarmError> {
        let link = self.link_to(to);
        let mut open: Vec<Pair> = questions.to_vec();
        let mut outbox = Outbox::new(FRAMES_MAX, FRAME_BYTES_MAX);
        let mut next = clock::now();
        while !open.is_empty() && clock::now() < deadline {
            let now = clock::now();
            if !lease.is_live(now) {
                return Err(SwarmError::Ended);
            }
            if now >= next {
                for pair in &open {
                    self.push(link, pair, &self.question(pair), &mut outbox);
                }
                next = now + REPEAT;
            }
            self.exchange(next.min(deadline), &mut outbox, |prover, segment, outbox| {
                let answered = open.iter().position(|pair| prover.is_answer(pair, segment));
                if let Some(answered) = answered {
                    let pair = open.swap_remove(answered);
                    prover.push(link, &pair, &prover.farewell(&pair), outbox);
                }
            })?;
        }
        Ok(open)
    }

    /// Waits for the first questions, answers them and gives where they came from.
    pub(super) fn await_questions(
        &mut self,
        lease: &Lease,
        deadline: Time,
    ) -> Result<Option<MacAddress>, SwarmError> {
        let mut from = None;
        while from.is_none() && clock::now() < deadline {
            if !lease.is_live(clock::now()) {
                return Err(SwarmError::Ended);
            }
            from = self.answer(deadline.min(clock::now() + REPEAT))?;
        }
        Ok(from)
    }

    /// Answers the questions by which the peer asks for a proof, those that wait or the first ones that come
    /// before `until`, and returns the MAC address from which the last of them came.
    pub(super) fn answer(&mut self, until: Time) -> Result<Option<MacAddress>, SwarmError> {
        let mut outbox = Outbox::new(FRAMES_MAX, FRAME_BYTES_MAX);
        let mut from = None;
        self.exchange(until, &mut outbox, |prover, segment, outbox| {
            let asked = Pair { addresses: segment.envelope.addresses, ports: segment.ports };
            if prover.is_question(&asked, segment) {
                let back = segment.envelope.link.back_from(MacAddress(prover.port.mac()));
                let answer = prover.answer_to(&asked);
                prover.push(back, &asked.reversed(), &answer, outbox);
                from = Some(back.destination);
            }
        })?;
        Ok(from)
    }

    /// Sends, waits for frames, and sends what `on_segment` and questions about neighbours give.
    fn exchange(
        &mut self,
        until: Time,
        outbox: &mut Outbox,
        mut on_segment: impl FnMut(&Self, &Segment<'_>, &mut Outbox),
    ) -> Result<(), SwarmError> {
        self.send(outbox)?;
        self.port.wait(until).map_err(SwarmError::Frames)?;
        let mut frames: Vec<Vec<u8>> = Vec::new();
        let arrived = self.port.receive(|frame| frames.push(frame.bytes.to_vec()));
        arrived.map_err(SwarmError::Frames)?;
        for frame in &frames {
            match Frame::read(frame, Peer::Network) {
                Ok(Frame::Tcp(segment)) => on_segment(self, &segment, outbox),
                Ok(Frame::Question(question)) if self.is_own(question.target) => {
                    let own = MacAddress(self.port.mac());
                    outbox.push(|frame| question.answer(own, frame));
                }
                Ok(Frame::Question(_)) | Err(_) => {}
            }
        }
        self.send(outbox)
    }

    /// What the port does not take is as good as lost: it will be asked again.
    fn send(&mut self, outbox: &mut Outbox) -> Result<(), SwarmError> {
        let lens: Vec<u16> = outbox.frames().map(|frame| frame.len() as u16).collect();
        let batch = FrameBatch::new(outbox.bytes(), &lens);
        self.port.send(batch).map_err(SwarmError::Frames)?;
        outbox.on_sent(lens.len());
        Ok(())
    }

    fn is_own(&self, address: IpAddr) -> bool {
        match self.side.role {
            Role::Client => self.side.plan.is_client(address),
            Role::Server => self.side.plan.is_server(address),
        }
    }

    fn link_to(&self, to: Mac) -> Link {
        let (source, destination) = (MacAddress(self.port.mac()), MacAddress(to));
        Link { source, destination, tags: VlanTags::NONE }
    }

    fn push(&self, link: Link, pair: &Pair, header: &Header, outbox: &mut Outbox) {
        let (addresses, traffic_class) = (pair.addresses, self.side.traffic_class);
        let envelope = Envelope { link, addresses, traffic_class, hop_limit: HOP_LIMIT };
        outbox.push(|frame| envelope.write(pair.ports, header, 0, |_| {}, frame));
    }

    fn question(&self, pair: &Pair) -> Header {
        let sequence = Numbers::of(&self.side.key, target(pair)).question;
        Header { sequence, flags: Flags::SYN, window: u16::MAX, ..Header::default() }
    }

    fn answer_to(&self, asked: &Pair) -> Header {
        let numbers = Numbers::of(&self.side.key, target(asked));
        Header {
            sequence: numbers.answer,
            acknowledgement: numbers.question.plus(1),
            flags: Flags::SYN | Flags::ACK,
            window: u16::MAX,
            ..Header::default()
        }
    }

    /// So that no firewall or translator on the way goes on waiting.
    fn farewell(&self, pair: &Pair) -> Header {
        let numbers = Numbers::of(&self.side.key, target(pair));
        Header {
            sequence: numbers.question.plus(1),
            acknowledgement: numbers.answer.plus(1),
            flags: Flags::RST | Flags::ACK,
            ..Header::default()
        }
    }

    fn is_question(&self, asked: &Pair, segment: &Segment<'_>) -> bool {
        let numbers = Numbers::of(&self.side.key, target(asked));
        self.is_own(asked.addresses.destination())
            && segment.header.flags == Flags::SYN
            && segment.header.sequence == numbers.question
    }

    fn is_answer(&self, pair: &Pair, segment: &Segment<'_>) -> bool {
        let came = Pair { addresses: segment.envelope.addresses, ports: segment.ports };
        let expected = self.answer_to(pair);
        came == pair.reversed()
            && segment.header.flags == expected.flags
            && segment.header.sequence == expected.sequence
            && segment.header.acknowledgement == expected.acknowledgement
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use fp_model::Family;

    use super::*;
    use crate::frame_io::MemoryPort;
    use crate::swarm::tests::load;
    use crate::udp::tests::long_lease;

    const KEY: FlowKey = *b"0123456789abcdef";
    const FAMILIES: [Family; 2] = [Family::Ipv4, Family::Ipv6];
    const ROLES: [Role; 2] = [Role::Client, Role::Server];

    fn plan(load: &ConnectionsLoad, family: Family) -> AddressPlan {
        AddressPlan::new(&load.addresses, family).unwrap()
    }

    const fn other(role: Role) -> Role {
        match role {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        }
    }

    fn prover(
        port: &mut MemoryPort,
        plan: AddressPlan,
        role: Role,
        key: FlowKey,
    ) -> Prover<'_, MemoryPort> {
        Prover { port, side: Side { plan, role, key, traffic_class: 0 } }
    }

    /// What the near end was not answered at, and where the far end would send.
    fn meet(
        load: &ConnectionsLoad,
        family: Family,
        role: Role,
        far_key: FlowKey,
        patience: Duration,
    ) -> (usize, Option<MacAddress>, [Mac; 2]) {
        let [mut near, mut far] = MemoryPort::pair();
        let macs = [near.mac(), far.mac()];
        let plan = plan(load, family);
        let (lease, deadline) = (long_lease(), clock::now() + patience);
        let is_over = Arc::new(AtomicBool::new(false));
        let answering = {
            let (lease, is_over) = (lease.clone(), Arc::clone(&is_over));
            thread::spawn(move || {
                let mut far = prover(&mut far, plan, other(role), far_key);
                let from = far.await_questions(&lease, deadline).unwrap();
                // Those that came after the first ones.
                while !is_over.load(Ordering::Relaxed) {
                    far.answer(clock::now() + REPEAT).unwrap();
                }
                from
            })
        };
        let asked = questions(load, &plan, role);
        let missing = prover(&mut near, plan, role, KEY).ask(macs[1], &asked, &lease, deadline);
        is_over.store(true, Ordering::Relaxed);
        (missing.unwrap().len(), answering.join().unwrap(), macs)
    }

    #[test]
    fn who_knows_the_key_is_proven_at_every_address_and_learns_where_to_send() {
        for family in FAMILIES {
            for role in ROLES {
                let load = load(family, 3, 7);
                let (missing, to, [near, _]) =
                    meet(&load, family, role, KEY, Duration::from_secs(10));
                assert_eq!((missing, to), (0, Some(MacAddress(near))));
            }
        }
    }

    #[test]
    fn who_does_not_know_the_key_is_no_far_end() {
        let load = load(Family::Ipv4, 3, 7);
        let patience = Duration::from_millis(200);
        let (missing, to, _) =
            meet(&load, Family::Ipv4, Role::Client, *b"0123456789abcdeF", patience);
        assert_eq!((missing, to), (7, None));
    }

    #[test]
    fn an_answer_of_somebody_else_proves_nothing() {
        let [mut near, mut far] = MemoryPort::pair();
        let load = load(Family::Ipv4, 1, 1);
        let plan = plan(&load, Family::Ipv4);
        let asked = questions(&load, &plan, Role::Client)[0];
        let (near_mac, others) = (near.mac(), [0; 16]);
        let answer_by = |prover: &Prover<'_, MemoryPort>| {
            let mut outbox = Outbox::new(1, FRAME_BYTES_MAX);
            let answer = prover.answer_to(&asked);
            prover.push(prover.link_to(near_mac), &asked.reversed(), &answer, &mut outbox);
            outbox.bytes().to_vec()
        };
        let stranger = answer_by(&prover(&mut far, plan, Role::Server, others));
        let far_end = answer_by(&prover(&mut far, plan, Role::Server, KEY));
        let near = prover(&mut near, plan, Role::Client, KEY);
        let is_believed = |frame: &[u8]| match Frame::read(frame, Peer::Network) {
            Ok(Frame::Tcp(segment)) => near.is_answer(&asked, &segment),
            other => panic!("{other:?}"),
        };
        assert!(is_believed(&far_end) && !is_believed(&stranger));
    }

    #[test]
    fn every_address_is_asked_or_many_of_them_from_the_first_to_the_last() {
        let asked = |clients, servers, role| {
            let load = load(Family::Ipv4, clients, servers);
            let plan = plan(&load, Family::Ipv4);
            let asked = questions(&load, &plan, role);
            let mut targets: Vec<IpAddr> = asked.iter().map(|pair| target(pair).ip()).collect();
            let is_other = |address: &IpAddr| match role {
                Role::Client => plan.is_server(*address),
                Role::Server => plan.is_client(*address),
            };
            assert!(targets.iter().all(is_other));
            let first_port =
                |pair: &Pair| [pair.ports.source, pair.ports.destination].contains(&1024);
            assert!(asked.iter().all(first_port), "a far end may await other ports elsewhere");
            targets.dedup();
            [targets.first(), targets.last()]
                .map(|target| target.unwrap().to_string())
                .into_iter()
                .chain([targets.len().to_string()])
                .collect::<Vec<_>>()
        };
        assert_eq!(asked(1, 1, Role::Client), ["198.19.0.1", "198.19.0.1", "1"]);
        assert_eq!(asked(4, 5, Role::Client), ["198.19.0.1", "198.19.0.5", "5"]);
        assert_eq!(asked(4, 5, Role::Server), ["198.18.0.1", "198.18.0.4", "4"]);
        assert_eq!(asked(2, 1000, Role::Client), ["198.19.0.1", "198.19.3.232", "64"]);
    }
}
