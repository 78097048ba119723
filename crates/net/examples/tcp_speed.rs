//! How many handshakes and small requests connections make in memory, and what they take up.

use std::hint::black_box;
use std::io::{self, Write as _};
use std::net::SocketAddr;

use fp_model::{Ecn, Time};
use fp_net::tcp::connection::{Arrival, Connection, State, Transmit};
use fp_net::tcp::{Profile, Tuple, initial_sequence};

const CONNECTIONS: usize = 1_000_000;
const RUNS: usize = 5;
const KEY: u128 = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef;

struct Pair {
    near: Connection,
    far: Connection,
}

fn main() -> io::Result<()> {
    let profile = Profile::default();
    let mut out = io::stdout();
    writeln!(out, "{} bytes for each end of a connection", size_of::<Connection>())?;
    let (mut opened, mut asked) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut pairs = Vec::with_capacity(CONNECTIONS);
        opened.push(per_second(|| (0..CONNECTIONS).for_each(|k| pairs.push(open(k, &profile)))));
        assert!(pairs.iter().all(|pair| pair.near.state() == State::Established));
        asked.push(per_second(|| pairs.iter_mut().for_each(|pair| ask(pair, &profile))));
        assert!(pairs.iter().all(|pair| !pair.near.is_at_work() && !pair.far.is_at_work()));
        black_box(&pairs);
    }
    for (name, mut runs) in [("handshakes", opened), ("requests with answers", asked)] {
        runs.sort_by(f64::total_cmp);
        let (best, median) = (runs[RUNS - 1] / 1e6, runs[RUNS / 2] / 1e6);
        writeln!(out, "{name:22} {best:5.2} M/s, median of {RUNS} {median:5.2}, both ends")?;
    }
    Ok(())
}

fn per_second(work: impl FnOnce()) -> f64 {
    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    let begin = std::time::Instant::now();
    work();
    CONNECTIONS as f64 / begin.elapsed().as_secs_f64()
}

/// Three segments; each connection at a time and between ports of its own.
fn open(index: usize, profile: &Profile) -> Pair {
    let now = Time::from_nanos(1_000_000_000 + index as u64 * 500);
    let near_address = SocketAddr::from(([10, 0, (index >> 16) as u8, 1], index as u16));
    let far_address = SocketAddr::from(([10, 1, 0, 1], 80));
    let near = Tuple { local: near_address, remote: far_address };
    let far = Tuple { local: far_address, remote: near_address };
    let mut near = Connection::open(initial_sequence(KEY, now, &near));
    let initial = initial_sequence(KEY, now, &far);
    let syn = near.poll_transmit(now, profile);
    let far = syn.and_then(|syn| Connection::passive(profile, initial, &syn.header));
    let Some(far) = far else { panic!("the first segment is no SYN") };
    let mut pair = Pair { near, far };
    pass(now, profile, &mut pair.far, &mut pair.near);
    pass(now, profile, &mut pair.near, &mut pair.far);
    pair
}

/// A request of 100 bytes, an answer of 100, and its acknowledgement.
fn ask(pair: &mut Pair, profile: &Profile) {
    let now = Time::from_nanos(3_000_000_000);
    pair.near.send(now, profile, 100);
    pass(now, profile, &mut pair.near, &mut pair.far);
    pair.far.send(now, profile, 100);
    pass(now, profile, &mut pair.far, &mut pair.near);
    let Some(due) = pair.near.poll_timeout(now) else { panic!("no acknowledgement is due") };
    pass(due, profile, &mut pair.near, &mut pair.far);
}

fn pass(now: Time, profile: &Profile, from: &mut Connection, to: &mut Connection) {
    while let Some(Transmit { header, payload_bytes, .. }) = from.poll_transmit(now, profile) {
        let arrival = Arrival { header: &header, payload_bytes, ecn: Ecn::NotEct };
        black_box(to.on_segment(now, profile, &arrival));
    }
}
