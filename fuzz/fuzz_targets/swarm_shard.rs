//! Both ends of a load, a path that does anything to their frames, and frames out of nowhere.

#![no_main]

#[path = "../../crates/net/tests/fuzz/frame.rs"]
#[expect(dead_code, reason = "of frames, only the checksums are of interest here")]
mod frame;
#[path = "../../crates/net/tests/fuzz/header.rs"]
mod header;
#[path = "../../crates/net/tests/swarm/world.rs"]
#[expect(dead_code, reason = "tests need more of it")]
mod world;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use arbitrary::{Arbitrary, Result, Unstructured};
use fp_model::{Behaviour, Close, ConnectionsLoad, Rate};
use fp_net::checksum::Peer;
use fp_net::packet::{Frame, Segment};
use fp_net::swarm::{Outbox, Stop};
use fp_net::tcp::{Flags, Header};
use libfuzzer_sys::fuzz_target;
use world::{CLIENT, Line, SERVER, START, World, load, ms, over_ipv6, share, stage, transaction};

const STEPS_MAX: usize = 24;
/// So many of the last frames may come again.
const KEPT_FRAMES: usize = 16;
const FRAME_BYTES: usize = 1514;
/// 250 kbit/s, so that seconds have few frames.
const SLOW_LINE: Line =
    Line { nanos_per_byte: 32_000, wait_max: Duration::from_millis(400), free_at: [START; 2] };

fuzz_target!(|ordeal: Ordeal| run(ordeal));

#[derive(Debug)]
struct Ordeal {
    load: ConnectionsLoad,
    steps: Vec<Step>,
    /// Of the frames, one after the other; the others arrive.
    fates: VecDeque<Fate>,
}

#[derive(Debug)]
enum Step {
    Run(Duration),
    /// One of the last frames once more, at either end, as it was or not.
    Again {
        to: usize,
        back: usize,
        change: Option<Change>,
    },
    Any {
        to: usize,
        bytes: Vec<u8>,
        is_mended: bool,
    },
    Stop(usize, Stop),
}

#[derive(Debug)]
enum Fate {
    Arrives,
    Lost,
    Changed(Change),
    Spoilt { at: u16, bits: u8 },
}

/// To a segment whose checksum is right afterwards.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Change {
    Sequence(i16),
    Acknowledgement(i16),
    FarSequence(u32),
    Flags(u8),
    Window(u16),
    Payload(u16),
    Timestamps(i8, i8),
    Destination(u8),
    Byte { at: u8, to: u8 },
}

type Kept = Rc<RefCell<VecDeque<Vec<u8>>>>;

fn run(ordeal: Ordeal) {
    let Ordeal { load, steps, mut fates } = ordeal;
    let is_honest = fates.iter().all(|fate| matches!(fate, Fate::Arrives | Fate::Lost))
        && steps.iter().all(|step| matches!(step, Step::Run(_) | Step::Stop(..)));
    let mut world = World::new(&load);
    world.line = Some(SLOW_LINE);
    let kept = Kept::default();
    let keeps = Rc::clone(&kept);
    world.middlebox = Some(Box::new(move |_, frame| {
        let mut kept = keeps.borrow_mut();
        kept.truncate(KEPT_FRAMES - 1);
        kept.push_front(frame.to_vec());
        match fates.pop_front().unwrap_or(Fate::Arrives) {
            Fate::Arrives => Some(frame.to_vec()),
            Fate::Lost => None,
            Fate::Changed(change) => Some(changed(frame, change)),
            Fate::Spoilt { at, bits } => {
                let mut frame = frame.to_vec();
                let at = usize::from(at) % frame.len();
                frame[at] ^= bits;
                Some(frame)
            }
        }
    }));
    let mut elapsed = Duration::ZERO;
    for step in steps {
        match step {
            Step::Run(for_so_long) => elapsed += for_so_long,
            Step::Again { to, back, change } => {
                let frame = kept.borrow().get(back).cloned();
                let Some(frame) = frame else { continue };
                arrive(&mut world, to, &change.map_or(frame.clone(), |by| changed(&frame, by)));
            }
            Step::Any { to, mut bytes, is_mended } => {
                if is_mended {
                    frame::mend(&mut bytes);
                }
                arrive(&mut world, to, &bytes);
            }
            Step::Stop(end, stop) => world.stop(end, stop),
        }
        world.run_until(elapsed);
        world.check();
    }
    end(&mut world, elapsed);
    let corrupt = [CLIENT, SERVER].map(|end| world.counters(end).corrupt_payload_bytes);
    assert!(!is_honest || corrupt == [0, 0], "{corrupt:?}");
}

/// What it sends at once is lost.
fn arrive(world: &mut World, to: usize, frame: &[u8]) {
    let mut outbox = Outbox::new(4, FRAME_BYTES);
    world.ends[to].on_frame(world.now, frame, &mut outbox);
    world.check();
}

/// From now on the path is a good one: whoever closes, and then breaks off, comes to an end.
fn end(world: &mut World, elapsed: Duration) {
    world.middlebox = None;
    world.stop(CLIENT, Stop::RampDown);
    world.run_until(elapsed + Duration::from_secs(60));
    for end in [CLIENT, SERVER] {
        world.stop(end, Stop::Abort);
    }
    world.run_until(elapsed + Duration::from_secs(400));
    world.check_is_over();
}

fn changed(frame: &[u8], change: Change) -> Vec<u8> {
    let Ok(Frame::Tcp(segment)) = Frame::read(frame, Peer::Network) else { return frame.to_vec() };
    let Segment { mut header, mut ports, mut payload, envelope } = segment;
    match change {
        Change::Sequence(by) => header.sequence = header.sequence.plus(by as u32),
        Change::Acknowledgement(by) => {
            header.acknowledgement = header.acknowledgement.plus(by as u32);
        }
        Change::FarSequence(by) => header.sequence = header.sequence.plus(by),
        Change::Flags(bits) => header.flags = flags(bits),
        Change::Window(window) => header.window = window,
        Change::Payload(bytes) => payload = &payload[..payload.len().min(bytes.into())],
        Change::Timestamps(value, echo) => change_timestamps(&mut header, value, echo),
        Change::Destination(port) => ports.destination ^= u16::from(port & 3),
        Change::Byte { at, to } => {
            let mut frame = frame.to_vec();
            let at = usize::from(at) % frame.len();
            frame[at] = to;
            frame::mend(&mut frame);
            return frame;
        }
    }
    let mut written = vec![0; FRAME_BYTES];
    let fill = |to: &mut [u8]| to.copy_from_slice(payload);
    let length = envelope.write(ports, &header, payload.len(), fill, &mut written);
    written.truncate(length);
    written
}

fn change_timestamps(header: &mut Header, value: i8, echo: i8) {
    if let Some(timestamps) = &mut header.options.timestamps {
        timestamps.value = timestamps.value.wrapping_add(value as u32);
        timestamps.echo = timestamps.echo.wrapping_add(echo as u32);
    }
}

fn flags(bits: u8) -> Flags {
    let all = [Flags::FIN, Flags::SYN, Flags::RST, Flags::PSH, Flags::ACK, Flags::URG];
    let numbered = all.into_iter().chain([Flags::ECE, Flags::CWR]).enumerate();
    numbered.fold(Flags::default(), |flags, (bit, flag)| flags.with(flag, bits >> bit & 1 == 1))
}

impl<'a> Arbitrary<'a> for Ordeal {
    fn arbitrary(draw: &mut Unstructured<'a>) -> Result<Self> {
        let load = any_load(draw)?;
        let steps = (0..draw.int_in_range(1..=STEPS_MAX)?).map(|_| any_step(draw));
        let steps = steps.collect::<Result<_>>()?;
        let mut fates = VecDeque::new();
        while !draw.is_empty() {
            fates.push_back(any_fate(draw)?);
        }
        Ok(Self { load, steps, fates })
    }
}

fn any_load(draw: &mut Unstructured<'_>) -> Result<ConnectionsLoad> {
    let how: u8 = draw.arbitrary()?;
    let is = |bit: u8| how >> bit & 1 == 1;
    let stages = (0..draw.int_in_range(0..=2)?)
        .map(|_| Ok(stage(draw.arbitrary::<u8>()?.into(), draw.int_in_range(0..=5)?)));
    let mut stages = stages.collect::<Result<Vec<_>>>()?;
    stages.insert(usize::from(is(0)).min(stages.len()), stage(100, draw.int_in_range(1..=5)?));
    let shares = (0..draw.int_in_range(1..=2)?).map(|_| Ok(share(1, any_behaviour(draw)?)));
    let mut load = load(stages, shares.collect::<Result<_>>()?);
    // An application that closes has up to 64 KiB written by then, which have to go.
    load.window_bytes = draw.int_in_range(500..=8000)?;
    load.mss_bytes = draw.int_in_range(500..=1440)?;
    load.retransmissions_max = draw.int_in_range(0..=5)?;
    load.syn_retransmissions_max = draw.int_in_range(0..=3)?;
    load.close = if is(1) { Close::Reset } else { Close::Fin };
    load.setup_rate_max = if is(2) { Some(draw.int_in_range(1..=100)?) } else { None };
    load.lifetime = if is(3) { Some(ms(draw.int_in_range(1..=200)?)) } else { None };
    if is(4) {
        // Few connections, each with many turns or with hardly any.
        load.addresses.clients.count = 1;
        load.addresses.servers.count = 1;
        load.addresses.client_ports.last = load.addresses.client_ports.first + 9;
    }
    load.addresses.translated = is(5);
    Ok(if is(6) && !is(5) {
        ConnectionsLoad { mss_bytes: load.mss_bytes, ..over_ipv6(load) }
    } else {
        load
    })
}

fn any_behaviour(draw: &mut Unstructured<'_>) -> Result<Behaviour> {
    let rate =
        if draw.arbitrary()? { Some(Rate::bps(draw.int_in_range(1..=500_000)?)) } else { None };
    Ok(match draw.int_in_range(0..=4)? {
        0 => Behaviour::Hold,
        1 => Behaviour::Download { rate },
        2 => Behaviour::Upload { rate },
        3 => Behaviour::Both { rate },
        _ => transaction(
            draw.int_in_range(1..=10_000)?,
            draw.int_in_range(1..=10_000)?,
            draw.arbitrary::<u8>()?.into(),
        ),
    })
}

fn any_step(draw: &mut Unstructured<'_>) -> Result<Step> {
    let to = draw.int_in_range(0..=1)?;
    Ok(match draw.arbitrary::<u8>()? & 7 {
        0..=2 => Step::Run(ms(draw.int_in_range(0..=100)?)),
        3 => Step::Again { to, back: draw.int_in_range(0..=KEPT_FRAMES - 1)?, change: None },
        4 | 5 => {
            let back = draw.int_in_range(0..=KEPT_FRAMES - 1)?;
            Step::Again { to, back, change: Some(draw.arbitrary()?) }
        }
        6 => {
            let length = draw.int_in_range(0..=120_usize)?.min(draw.len());
            Step::Any { to, bytes: draw.bytes(length)?.to_vec(), is_mended: draw.arbitrary()? }
        }
        _ if draw.ratio(1, 2)? => {
            Step::Stop(to, if draw.arbitrary()? { Stop::Abort } else { Stop::RampDown })
        }
        _ => Step::Run(Duration::from_secs(draw.int_in_range(0..=3)?)),
    })
}

fn any_fate(draw: &mut Unstructured<'_>) -> Result<Fate> {
    Ok(match draw.arbitrary::<u8>()? & 7 {
        0..=3 => Fate::Arrives,
        4 | 5 => Fate::Lost,
        6 => Fate::Changed(draw.arbitrary()?),
        _ => Fate::Spoilt { at: draw.arbitrary()?, bits: draw.arbitrary()? },
    })
}
