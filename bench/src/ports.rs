//! How many 64-byte frames a second go through each kind of packet port, one core at each end.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use fp_engine::frame_io::{FrameBatch, FrameIo, MemoryPort};
use fp_engine::lab::Privileges;
use fp_engine::os::clock;
use fp_engine::os::netlink::Mac;

use super::median_of;
use super::pair::{Pair, packet_port, pin, xdp_port};

/// Frames sent by one call.
const BATCH: usize = 64;
/// Without FCS.
const FRAME_BYTES: usize = 60;
/// Hosts of the pair's networks.
const CLIENT: [u8; 4] = [198, 18, 128, 1];
const SERVER: [u8; 4] = [198, 19, 0, 1];

pub(crate) fn run() -> anyhow::Result<()> {
    Privileges::prepare()?;
    let pair = Pair::lay().context("cannot lay a veth pair")?;
    measure("in memory", MemoryPort::pair())?;
    measure("packet sockets", [packet_port(&pair.near)?, packet_port(&pair.far)?])?;
    match [xdp_port(&pair.near), xdp_port(&pair.far)] {
        [Ok(near), Ok(far)] => measure("AF_XDP", [near, far]),
        [Err(error), _] | [_, Err(error)] => {
            Ok(writeln!(std::io::stdout(), "AF_XDP: not measured: {error:#}")?)
        }
    }
}

fn measure<P: FrameIo + Send>(what: &str, mut ports: [P; 2]) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    let sent = median_of(|| Ok(flood(&mut ports)?.sent_mpps))?;
    writeln!(out, "{what}: sent {sent:.2} Mpps, as fast as it goes")?;
    let most = median_of(|| most_received(&mut ports))?;
    writeln!(out, "{what}: received {most:.2} Mpps, none lost")?;
    let answered = median_of(|| echo(&mut ports))?;
    writeln!(out, "{what}: asked and answered {answered:.2} Mpps")?;
    for (end, port) in ["near", "far"].iter().zip(&mut ports) {
        writeln!(out, "  {end}: {:?}", port.counters()?)?;
    }
    Ok(())
}

struct Flood {
    sent_mpps: f64,
    lost_frames: u64,
}

/// A second of frames in batches, as fast as they are taken.
fn flood<P: FrameIo + Send>(ports: &mut [P; 2]) -> anyhow::Result<Flood> {
    one_way(ports, Duration::from_secs(1), |_| u64::MAX)
}

/// The highest rate, in millions of frames a second, at which none of half a second's frames is
/// lost: halved in again and again, to 25,000 frames a second, unless the port loses none at all.
fn most_received<P: FrameIo + Send>(ports: &mut [P; 2]) -> anyhow::Result<f64> {
    const STEPS: u32 = 7;
    let unpaced = flood(ports)?;
    if unpaced.lost_frames == 0 {
        return Ok(unpaced.sent_mpps);
    }
    let (mut most_mpps, mut kpps, mut step_kpps) = (0.0_f64, 1600, 800);
    for _ in 0..STEPS {
        let due = |elapsed: Duration| (elapsed.as_secs_f64() * f64::from(kpps) * 1e3) as u64;
        let flood = one_way(ports, Duration::from_millis(500), due)?;
        if flood.lost_frames == 0 {
            // The port may have sent more slowly than it was asked to.
            most_mpps = most_mpps.max(flood.sent_mpps);
            kpps += step_kpps;
        } else {
            kpps -= step_kpps;
        }
        step_kpps /= 2;
    }
    Ok(most_mpps)
}

/// Sends from the first port to the second one for a while, whenever frames are `due`.
fn one_way<P: FrameIo + Send>(
    [near, far]: &mut [P; 2],
    lasts: Duration,
    due: impl Fn(Duration) -> u64,
) -> anyhow::Result<Flood> {
    const SETTLE: Duration = Duration::from_millis(20);
    let frames = Outbox::of(&frame(near.mac(), far.mac(), CLIENT, SERVER), BATCH);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let receiving = scope.spawn(|| -> anyhow::Result<u64> {
            pin(1)?;
            let mut received = 0;
            while !is_over.load(Ordering::Relaxed) {
                received += far.receive(|_| ())? as u64;
            }
            Ok(received + drain(far)?)
        });
        pin(0)?;
        let (mut sent, began) = (0, clock::now());
        let took = loop {
            let elapsed = clock::now().since(began);
            if elapsed >= lasts {
                break elapsed;
            }
            let count = due(elapsed).saturating_sub(sent).min(BATCH as u64);
            if count > 0 {
                sent += near.send(frames.first(count as usize))? as u64;
            }
        };
        // Nothing more is sent, but what a port still holds.
        while clock::now().since(began) < took + SETTLE {
            near.receive(|_| ())?;
        }
        is_over.store(true, Ordering::Relaxed);
        let received = receiving.join().map_err(|_| anyhow!("the receiver panicked"))??;
        let sent_mpps = sent as f64 / took.as_secs_f64() / 1e6;
        Ok(Flood { sent_mpps, lost_frames: sent - received })
    })
}

/// Millions of frames a second that come back, of a few batches that are always under way.
fn echo<P: FrameIo + Send>([near, far]: &mut [P; 2]) -> anyhow::Result<f64> {
    const UNDER_WAY: u64 = 256;
    const LASTS: Duration = Duration::from_secs(1);
    const PATIENCE: Duration = Duration::from_millis(50);
    let questions = Outbox::of(&frame(near.mac(), far.mac(), CLIENT, SERVER), BATCH);
    let answer = frame(far.mac(), near.mac(), SERVER, CLIENT);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let answering = scope.spawn(|| -> anyhow::Result<u64> {
            pin(1)?;
            let mut answers = Outbox::of(&answer, BATCH);
            while !is_over.load(Ordering::Relaxed) {
                answers.clear();
                far.receive(|_| answers.push(&answer))?;
                let mut rest = answers.all();
                while !rest.is_empty() && !is_over.load(Ordering::Relaxed) {
                    rest = rest.after(far.send(rest)?);
                }
            }
            drain(far)
        });
        pin(0)?;
        let began = clock::now();
        let (mut sent, mut answered, mut heard_at) = (0, 0, began);
        let (mut given_up, mut took) = (0, Duration::ZERO);
        while took < LASTS {
            let now = clock::now();
            took = now.since(began);
            let received = near.receive(|_| ())? as u64;
            if received > 0 {
                (answered, heard_at) = (answered + received, now);
            } else if now.since(heard_at) > PATIENCE {
                // What has been lost is under way no more.
                (given_up, heard_at) = (sent - answered, now);
            }
            let room = UNDER_WAY.saturating_sub(sent - answered - given_up.min(sent - answered));
            if room >= BATCH as u64 {
                sent += near.send(questions.all())? as u64;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        answering.join().map_err(|_| anyhow!("the answering end panicked"))??;
        drain(near)?;
        Ok(answered as f64 / took.as_secs_f64() / 1e6)
    })
}

/// So that the next run begins with empty ports.
fn drain(port: &mut impl FrameIo) -> anyhow::Result<u64> {
    let mut frames = 0;
    loop {
        match port.receive(|_| ())? {
            0 => return Ok(frames),
            more => frames += more as u64,
        }
    }
}

/// Frames one after the other.
struct Outbox {
    bytes: Vec<u8>,
    lens: Vec<u16>,
}

impl Outbox {
    fn of(frame: &[u8; FRAME_BYTES], count: usize) -> Self {
        Self { bytes: frame.repeat(count), lens: vec![FRAME_BYTES as u16; count] }
    }

    fn first(&self, count: usize) -> FrameBatch<'_> {
        FrameBatch::new(&self.bytes[..count * FRAME_BYTES], &self.lens[..count])
    }

    fn all(&self) -> FrameBatch<'_> {
        self.first(self.lens.len())
    }

    fn push(&mut self, frame: &[u8; FRAME_BYTES]) {
        self.bytes.extend_from_slice(frame);
        self.lens.push(FRAME_BYTES as u16);
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.lens.clear();
    }
}

fn frame(from: Mac, to: Mac, source: [u8; 4], destination: [u8; 4]) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&from);
    // IPv4 and TCP, 20 bytes each.
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 6]);
    frame[26..30].copy_from_slice(&source);
    frame[30..34].copy_from_slice(&destination);
    frame
}
