//! Single packets that may not be fragmented, each answered: what passes, and how fast it is back.

use std::io;
use std::time::Duration;

use fp_model::{Direction, Family, ProbesLoad, RttSummary, Time, Timing};
use fp_net::stream::{Arrived, SeenSequences};

use crate::half::{ProbesFarHalf, ProbesNearHalf};
use crate::lease::Lease;
use crate::os::clock;
use crate::os::udp::{self, Datagram, Inbox};
use crate::udp::{FrameError, Kind, ProvenSocket};

/// Mark, number of the probe (32 bits), and in answers the nanoseconds that the far end held it.
const HEAD_BYTES: usize = 16;
type Head = [u8; HEAD_BYTES];
const UDP_HEADER_BYTES: u32 = 8;
/// The longest wait without a look at the lease.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Asks: sends the probes, one each interval, and takes the answers, until all are back or the
/// settling time after the last one is over.
///
/// # Errors
/// Packets too short for a probe, a socket that fails, a lease that ended.
pub(crate) fn ask(
    proven: &ProvenSocket,
    family: Family,
    direction: Direction,
    load: &ProbesLoad,
    timing: &Timing,
    start: Time,
    lease: &Lease,
) -> Result<ProbesNearHalf, FrameError> {
    let sizes = Sizes::new(family, direction, load)?;
    let padding = vec![0; sizes.probe_payload - HEAD_BYTES];
    let mut asked = Asked::default();
    let mut inbox = Inbox::new();
    let ends_at = ends_at(load, timing, start);
    loop {
        let now = clock::now();
        if !lease.is_live(now) {
            return Err(FrameError::Ended);
        }
        let next_due = start + load.interval * asked.count();
        if asked.count() < load.count && now >= next_due {
            asked.send_probe(proven, &padding)?;
        } else if now >= ends_at || asked.count() == load.count && asked.is_all_answered() {
            break;
        } else {
            let wake_at = if asked.count() < load.count { next_due } else { ends_at };
            wait(proven, wake_at.min(now + WAIT_MAX))?;
        }
        asked.half.too_big_answers += receive_batch(&mut inbox, proven)?;
        let mark = proven.mark(Kind::Answer);
        for arrival in inbox.arrivals().filter(|a| a.payload_bytes == sizes.answer_payload) {
            if let Some((number, residence)) = read_head(arrival.head, mark) {
                asked.on_answer(number, residence, arrival.at);
            }
        }
    }
    say_done(proven)?;
    Ok(asked.finish())
}

/// Answers: sends one packet back for each probe that arrives, until the near end says that it is
/// done or can ask no more.
///
/// # Errors
/// Packets too short for an answer, a socket that fails, a lease that ended.
pub(crate) fn answer(
    proven: &ProvenSocket,
    family: Family,
    direction: Direction,
    load: &ProbesLoad,
    timing: &Timing,
    start: Time,
    lease: &Lease,
) -> Result<ProbesFarHalf, FrameError> {
    let sizes = Sizes::new(family, direction, load)?;
    let padding = vec![0; sizes.answer_payload - HEAD_BYTES];
    let done = head(proven.mark(Kind::Done), 0, Duration::ZERO);
    let mut seen = SeenSequences::default();
    let mut half = ProbesFarHalf::default();
    let mut inbox = Inbox::new();
    let ends_at = ends_at(load, timing, start);
    loop {
        let now = clock::now();
        if !lease.is_live(now) {
            return Err(FrameError::Ended);
        }
        if now >= ends_at {
            return Ok(half);
        }
        wait(proven, ends_at.min(now + WAIT_MAX))?;
        half.too_big_answers += receive_batch(&mut inbox, proven)?;
        for arrival in inbox.arrivals() {
            if arrival.head == done {
                return Ok(half);
            }
            let probe = read_head(arrival.head, proven.mark(Kind::Probe))
                .filter(|_| arrival.payload_bytes == sizes.probe_payload)
                .filter(|(number, _)| *number < load.count);
            let Some((number, _)) = probe else { continue };
            if seen.on_arrival(number.into()) != Arrived::Duplicate {
                half.arrived += 1;
                let residence = clock::now().since(arrival.at);
                let answer = head(proven.mark(Kind::Answer), number, residence);
                // An answer that cannot leave is one that the near end does not get.
                half.too_big_answers += send_packet(proven, answer, &padding)?.too_big_answers;
            }
        }
    }
}

/// When neither end waits any longer.
fn ends_at(load: &ProbesLoad, timing: &Timing, start: Time) -> Time {
    start + load.interval * load.count + timing.settle
}

/// UDP payload of each kind of packet.
struct Sizes {
    probe_payload: usize,
    answer_payload: usize,
}

impl Sizes {
    fn new(family: Family, direction: Direction, load: &ProbesLoad) -> Result<Self, FrameError> {
        let payload = |packet_bytes: u32| {
            let headers = family.ip_header_bytes() + UDP_HEADER_BYTES;
            let least_bytes = headers + HEAD_BYTES as u32;
            if packet_bytes < least_bytes {
                return Err(FrameError::PacketTooShort { packet_bytes, least_bytes });
            }
            Ok((packet_bytes - headers) as usize)
        };
        let (flow, back) = (payload(load.packet_bytes)?, payload(load.answer_bytes)?);
        Ok(match direction {
            Direction::Upload => Self { probe_payload: flow, answer_payload: back },
            Direction::Download => Self { probe_payload: back, answer_payload: flow },
        })
    }
}

/// What the near end knows of its probes.
#[derive(Default)]
struct Asked {
    /// When each probe left, by its number; `None` once it was answered or if it was refused.
    waiting: Vec<Option<Time>>,
    half: ProbesNearHalf,
    round_trips: Vec<Duration>,
}

impl Asked {
    fn count(&self) -> u32 {
        self.waiting.len() as u32
    }

    fn is_all_answered(&self) -> bool {
        self.half.answered == self.half.sent
    }

    fn send_probe(&mut self, proven: &ProvenSocket, padding: &[u8]) -> Result<(), FrameError> {
        let probe = head(proven.mark(Kind::Probe), self.count(), Duration::ZERO);
        let sent_at = clock::now();
        let sending = send_packet(proven, probe, padding)?;
        self.half.too_big_answers += sending.too_big_answers;
        self.waiting.push((sending.departure == Departure::Left).then_some(sent_at));
        match sending.departure {
            Departure::Left => self.half.sent += 1,
            Departure::TooLong => self.half.refused += 1,
            Departure::Failed => {}
        }
        Ok(())
    }

    fn on_answer(&mut self, number: u32, residence: Duration, arrived_at: Time) {
        let Some(sent_at) = self.waiting.get_mut(number as usize).and_then(Option::take) else {
            return;
        };
        self.half.answered += 1;
        self.round_trips.push(arrived_at.since(sent_at).saturating_sub(residence));
    }

    fn finish(mut self) -> ProbesNearHalf {
        self.half.rtt = RttSummary::of(self.round_trips);
        self.half
    }
}

/// What became of a packet at the host's own door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Departure {
    Left,
    /// The interface does not carry packets of this length.
    TooLong,
    /// The host had no room or no route for it.
    Failed,
}

/// What came of an attempt to send a packet.
struct Sending {
    departure: Departure,
    /// Messages about earlier packets that were met on the way.
    too_big_answers: u64,
}

fn send_packet(proven: &ProvenSocket, head: Head, padding: &[u8]) -> Result<Sending, FrameError> {
    // News of an earlier packet comes in place of sending this one, and a router's word that one
    // was too big looks like our own interface's: only the word that stays is about this packet.
    const TRIES: u64 = 4;
    let mut too_big = 0;
    for _ in 0..TRIES {
        match udp::send_batch(&proven.socket, &[Datagram { head, padding }]) {
            Ok(_) => {
                return Ok(Sending { departure: Departure::Left, too_big_answers: too_big });
            }
            Err(error) if udp::is_too_big(&error) => too_big += 1,
            Err(error) if udp::is_about_an_earlier_datagram(&error) => {}
            Err(error) if udp::is_out_of_room(&error) => break,
            Err(source) => return Err(FrameError::Socket { doing: "send a UDP probe", source }),
        }
    }
    if too_big == TRIES {
        return Ok(Sending { departure: Departure::TooLong, too_big_answers: 0 });
    }
    Ok(Sending { departure: Departure::Failed, too_big_answers: too_big })
}

/// Tells the far end that no probe will follow, three times in case some are lost; if all are, it
/// waits until the end of the settling time.
fn say_done(proven: &ProvenSocket) -> Result<(), FrameError> {
    let done = head(proven.mark(Kind::Done), 0, Duration::ZERO);
    for _ in 0..3 {
        send_packet(proven, done, &[])?;
    }
    Ok(())
}

fn wait(proven: &ProvenSocket, until: Time) -> Result<(), FrameError> {
    udp::wait_readable(&proven.socket, until).map_err(FrameError::socket("wait for UDP probes"))
}

/// Takes a batch from the socket and returns how many "packet too big" came instead.
fn receive_batch(inbox: &mut Inbox, proven: &ProvenSocket) -> Result<u64, FrameError> {
    match inbox.receive(&proven.socket) {
        Ok(_) => Ok(0),
        Err(error) if udp::is_too_big(&error) => Ok(1),
        Err(error) if udp::is_about_an_earlier_datagram(&error) => Ok(0),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        Err(source) => Err(FrameError::Socket { doing: "receive UDP probes", source }),
    }
}

fn head(mark: [u8; 4], number: u32, residence: Duration) -> Head {
    let mut head = [0; HEAD_BYTES];
    head[..4].copy_from_slice(&mark);
    head[4..8].copy_from_slice(&number.to_be_bytes());
    head[8..].copy_from_slice(&(residence.as_nanos() as u64).to_be_bytes());
    head
}

/// Number and residence, if `bytes` begin a packet with this mark.
fn read_head(bytes: &[u8], mark: [u8; 4]) -> Option<(u32, Duration)> {
    let (theirs, rest) = bytes.split_first_chunk::<4>()?;
    let (number, rest) = rest.split_first_chunk::<4>()?;
    let residence = u64::from_be_bytes(*rest.first_chunk::<8>()?);
    let number = u32::from_be_bytes(*number);
    (*theirs == mark).then_some((number, Duration::from_nanos(residence)))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::udp::tests::{long_lease, proven_pair};

    const LOAD: ProbesLoad = ProbesLoad {
        packet_bytes: 1400,
        answer_bytes: 100,
        count: 20,
        interval: Duration::from_millis(5),
    };
    const TIMING: Timing = Timing {
        warm_up: Duration::ZERO,
        steady: Duration::from_millis(100),
        settle: Duration::from_secs(5),
    };

    #[test]
    fn every_probe_is_answered_and_the_last_answer_ends_both() {
        let lease = &long_lease();
        for family in [Family::Ipv4, Family::Ipv6] {
            for direction in [Direction::Upload, Direction::Download] {
                let (near, far) = proven_pair(family, lease);
                let start = clock::now();
                let (asked, answered) = thread::scope(|scope| {
                    let far = scope.spawn(move || {
                        answer(&far, family, direction, &LOAD, &TIMING, start, lease).unwrap()
                    });
                    let near = ask(&near, family, direction, &LOAD, &TIMING, start, lease).unwrap();
                    (near, far.join().unwrap())
                });
                assert_eq!((asked.sent, asked.answered, answered.arrived), (20, 20, 20));
                assert_eq!((asked.refused, asked.too_big_answers), (0, 0));
                let rtt = asked.rtt.unwrap();
                assert_eq!(rtt.samples, 20);
                assert!(rtt.min < Duration::from_millis(10), "loopback takes {:?}", rtt.min);
                assert!(clock::now().since(start) < TIMING.settle, "an end waited to no purpose");
            }
        }
    }

    #[test]
    fn the_time_at_the_far_end_is_no_part_of_the_round_trip() {
        // Sent at 1 ms, back at 61 ms, of which the far end held it 7 ms: 53 ms on the way.
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut asked = Asked { waiting: vec![Some(at(1))], ..Asked::default() };
        let held = Duration::from_millis(7);
        let bytes = head(*b"mark", 0, held);
        let (number, residence) = read_head(&bytes, *b"mark").unwrap();
        asked.on_answer(number, residence, at(61));
        // A second copy of the answer, and one to a probe that was never sent.
        asked.on_answer(0, held, at(99));
        asked.on_answer(1, held, at(99));
        let half = asked.finish();
        assert_eq!(half.answered, 1);
        assert_eq!(half.rtt.unwrap().max, Duration::from_millis(53));
    }

    #[test]
    fn a_packet_that_no_interface_takes_is_refused_and_no_error() {
        let lease = long_lease();
        let (near, _far) = proven_pair(Family::Ipv4, &lease);
        // An IP packet has 65,535 bytes at most.
        let load = ProbesLoad { packet_bytes: 65_536, count: 3, ..LOAD };
        let start = clock::now();
        let direction = Direction::Upload;
        let asked = ask(&near, Family::Ipv4, direction, &load, &TIMING, start, &lease).unwrap();
        assert_eq!((asked.sent, asked.refused, asked.answered), (0, 3, 0));
        assert_eq!((asked.too_big_answers, asked.rtt), (0, None));
    }

    #[test]
    fn a_far_end_that_is_gone_leaves_probes_unanswered() {
        let lease = long_lease();
        let (near, far) = proven_pair(Family::Ipv4, &lease);
        // From now on the kernel answers every probe with "port unreachable".
        drop(far);
        let timing = Timing { settle: Duration::from_millis(100), ..TIMING };
        let start = clock::now();
        let direction = Direction::Upload;
        let asked = ask(&near, Family::Ipv4, direction, &LOAD, &timing, start, &lease).unwrap();
        assert_eq!((asked.sent, asked.answered, asked.too_big_answers), (20, 0, 0));
    }

    #[test]
    fn a_packet_without_the_flows_mark_is_not_answered() {
        let lease = &long_lease();
        let (near, far) = proven_pair(Family::Ipv4, lease);
        let padding = vec![0; 1400 - 28 - HEAD_BYTES];
        let stray = head(*b"nope", 0, Duration::ZERO);
        let short = head(near.mark(Kind::Probe), 1, Duration::ZERO);
        let beyond = head(near.mark(Kind::Probe), LOAD.count, Duration::ZERO);
        send_packet(&near, stray, &padding).unwrap();
        send_packet(&near, short, &padding[1..]).unwrap();
        send_packet(&near, beyond, &padding).unwrap();
        say_done(&near).unwrap();
        let start = clock::now();
        let direction = Direction::Upload;
        let half = answer(&far, Family::Ipv4, direction, &LOAD, &TIMING, start, lease).unwrap();
        assert_eq!(half.arrived, 0);
        assert!(near.socket.recv(&mut [0; 64]).is_err(), "the far end answered");
    }

    #[test]
    fn neither_end_goes_on_when_its_peer_is_silent() {
        let (near, far) = proven_pair(Family::Ipv4, &long_lease());
        let load = ProbesLoad { count: 100_000, ..LOAD };
        let start = clock::now();
        let lease = &Lease::new(start);
        let direction = Direction::Download;
        thread::scope(|scope| {
            let far = scope
                .spawn(move || answer(&far, Family::Ipv4, direction, &load, &TIMING, start, lease));
            let near = ask(&near, Family::Ipv4, direction, &load, &TIMING, start, lease);
            assert!(matches!(near, Err(FrameError::Ended)));
            assert!(matches!(far.join().unwrap(), Err(FrameError::Ended)));
        });
        // The dead-man ends them after 750 ms; the rest is what a loaded host may add.
        assert!(clock::now().since(start) < Duration::from_secs(3));
    }

    #[test]
    fn packets_that_cannot_carry_a_number_are_refused() {
        let load = ProbesLoad { answer_bytes: 43, ..LOAD };
        let sizes = Sizes::new(Family::Ipv4, Direction::Upload, &load);
        // 20 of IP, 8 of UDP, 16 of ours.
        assert_eq!(
            sizes.err().unwrap().to_string(),
            "packets of 43 bytes are too short: use 44 bytes or more"
        );
        assert!(Sizes::new(Family::Ipv6, Direction::Upload, &LOAD).is_ok());
    }
}
