//! Trials against a stock iperf3 server: what the testbed reports is what the server counted, and
//! what the server does not tell is unknown.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use fp_engine::StopFlag;
use fp_engine::control::{FarAddress, Host};
use fp_engine::iperf3::Iperf3Testbed;
use fp_engine::near::LiveOptions;
use fp_engine::os::clock;
use fp_model::{
    Abort, BurstSpacing, BurstsLoad, CongestionControl, Direction, Dscp, Event, Family, FlowReport,
    FlowSpec, FrameSizes, FramesLoad, Load, Pace, ProbedBy, ProbesLoad, Rate, Sample, Sender,
    TcpEngine, TcpLoad, Testbed as _, Timing, Trial,
};
use serde_json::Value;

use crate::packaged::free_ports;

/// The packaged server, which says what it counted when it ends.
struct Packaged {
    process: Child,
    port: u16,
}

impl Packaged {
    fn start() -> Self {
        let port = free_ports(1);
        let words = ["-s", "-J", "--forceflush", "-p", &port.to_string()];
        let mut server = Command::new("iperf3");
        let process = server.args(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let missing = |error| panic!("iperf3 does not run, install it: {error}");
        Self { process: process.unwrap_or_else(missing), port }
    }

    fn testbed(&self) -> Iperf3Testbed {
        self.testbed_watched_by(drop)
    }

    fn testbed_watched_by(
        &self,
        watcher: impl FnMut(Event) + Clone + Send + 'static,
    ) -> Iperf3Testbed {
        let deadline = clock::now() + Duration::from_secs(8);
        loop {
            let far = FarAddress { host: Host::Address([127, 0, 0, 1].into()), port: self.port };
            let (family, events) = (Some(Family::Ipv4), Box::new(watcher.clone()));
            let options = LiveOptions { family, events, stop: StopFlag::default() };
            match Iperf3Testbed::connect(far, None, options) {
                Ok(bed) => return bed,
                // It may not listen yet.
                Err(error) => assert!(clock::now() < deadline, "{error}"),
            }
        }
    }

    /// Its own document on its second test: the first one is that of the handshake.
    fn said(mut self) -> Value {
        let stdout = self.process.stdout.take().unwrap();
        let mut documents = serde_json::Deserializer::from_reader(stdout).into_iter();
        documents.nth(1).unwrap().unwrap()
    }
}

impl Drop for Packaged {
    fn drop(&mut self) {
        // It may have been ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const TIMING: Timing = Timing {
    warm_up: Duration::ZERO,
    steady: Duration::from_millis(500),
    settle: Duration::from_millis(200),
};

fn trial(flows: Vec<(Direction, Load)>) -> Trial {
    let flow = |(direction, load)| FlowSpec::new(direction, Family::Ipv4, Dscp::BEST_EFFORT, load);
    Trial { name: "test".into(), flows: flows.into_iter().map(flow).collect(), timing: TIMING }
}

fn tcp() -> Load {
    Load::Tcp(TcpLoad {
        connections: 2,
        window_bytes: 100_000,
        mss_bytes: 1460,
        sender: Sender::Bulk,
        // The only one that every host allows to everybody.
        congestion_control: CongestionControl::Reno,
        pacing: Some(Rate::mbps(200)),
        pace: Pace::Unlimited,
        write_bytes: None,
        engine: TcpEngine::Kernel,
    })
}

fn frames() -> Load {
    // 400 frames of 1,000 bytes in half a second.
    let pace = Pace::Constant { rate: Rate::bps(6_400_000) };
    Load::Frames(FramesLoad::new(FrameSizes::fixed(1000), pace))
}

fn sum(series: &[Sample], of: fn(&Sample) -> Option<u64>) -> Option<u64> {
    series.iter().map(of).sum()
}

#[test]
fn both_directions_of_tcp_are_what_the_packaged_server_counted() {
    let server = Packaged::start();
    let mut bed = server.testbed();
    let seen =
        bed.run(&trial(vec![(Direction::Download, tcp()), (Direction::Upload, tcp())])).unwrap();
    let [FlowReport::Tcp(download), FlowReport::Tcp(upload)] = seen.flows.as_slice() else {
        panic!("{seen:?}");
    };
    let said = server.said();
    let end = &said["end"];
    let count = |way: &str| end[way]["bytes"].as_u64().unwrap();
    assert_eq!(upload.whole_good_bytes, count("sum_received"), "{end:#}");
    assert_eq!(sum(&upload.series, |slot| slot.received_bytes), Some(upload.whole_good_bytes));
    // What the server wrote last may be in its kernel still.
    let sent = count("sum_sent_bidir_reverse");
    assert!(download.whole_good_bytes <= sent + 1_000_000, "{sent}: {download:?}");
    assert!(download.whole_good_bytes >= sent / 2, "{sent}: {download:?}");
    for report in [download, upload] {
        assert_eq!(report.connections.len(), 2);
        let known = |each: &fp_model::ConnectionReport| each.retransmitted_bytes.is_some();
        assert!(report.connections.iter().all(known), "{report:?}");
        assert!(report.connections.iter().all(|each| each.good_bytes > 0), "{report:?}");
    }
    assert!(upload.connections.iter().all(|each| each.rtt_mean.is_some()), "{upload:?}");
    assert!(download.connections.iter().all(|each| each.rtt_mean.is_none()), "{download:?}");
    let unknown = download.series.iter().all(|slot| slot.sent_bytes.is_none());
    assert!(unknown && download.series.iter().all(|slot| slot.received_bytes.is_some()));
}

/// A server begins to send a second before the end of what it leaves out, whatever the trial leaves
/// out: 900 ms before this one starts.
#[test]
fn what_a_server_sends_before_the_trial_is_of_no_live_sample() {
    let server = Packaged::start();
    let (tell, told) = mpsc::channel();
    let mut bed = server.testbed_watched_by(move |event: Event| {
        if let Event::Sampled { sample, .. } = event {
            tell.send(sample).unwrap();
        }
    });
    let timing = Timing { warm_up: Duration::from_millis(100), ..TIMING };
    bed.run(&Trial { timing, ..trial(vec![(Direction::Download, tcp())]) }).unwrap();
    drop(bed);
    let rates: Vec<f64> = told
        .iter()
        .map(|sample: Sample| sample.received_bytes.unwrap() as f64 / sample.lasts.as_secs_f64())
        .collect();
    // 900 ms more in a slot of 50 ms would be nineteen times the rate of the others.
    let (first, others) = rates.split_first().unwrap();
    let fastest = others.iter().copied().fold(0.0, f64::max);
    assert!(*first < 5.0 * fastest, "{rates:?}");
}

/// In ten seconds that it does not need, from a port of its own.
#[test]
fn a_transfer_ends_when_its_bytes_have_arrived_whoever_sends_them() {
    let server = Packaged::start();
    let mut bed = server.testbed();
    let Load::Tcp(load) = tcp() else { panic!("another load") };
    let sender = Sender::Transfer { bytes: 1_000_001 };
    let load = Load::Tcp(TcpLoad { sender, congestion_control: CongestionControl::Host, ..load });
    for direction in [Direction::Upload, Direction::Download] {
        let timing = Timing { steady: Duration::from_secs(10), ..TIMING };
        let begun = clock::now();
        let asked = Trial { timing, ..trial(vec![(direction, load.clone())]) };
        let seen = bed.run(&asked).unwrap();
        let [FlowReport::Tcp(report)] = seen.flows.as_slice() else { panic!("{seen:?}") };
        assert!(clock::now().since(begun) < Duration::from_secs(8), "{report:?}");
        assert!(report.whole_until < timing.steady);
        // A server that sends does so until it hears that all has arrived.
        let surplus = report.whole_good_bytes - 1_000_001;
        assert!(surplus == 0 || direction == Direction::Download, "{surplus}");
        assert_eq!(sum(&report.series, |slot| slot.received_bytes), Some(report.whole_good_bytes));
        assert!(report.connections.iter().all(|each| !each.congestion_control.is_empty()));
    }
}

/// 200 packets of the warm-up are no packets of the 400 that count, whatever the round trip.
#[test]
fn frames_after_a_warm_up_are_sent_and_received_alike() {
    let server = Packaged::start();
    let mut bed = server.testbed();
    let second = Duration::from_secs(1);
    for direction in [Direction::Upload, Direction::Download] {
        let timing = Timing { warm_up: second, ..TIMING };
        let seen = bed.run(&Trial { timing, ..trial(vec![(direction, frames())]) }).unwrap();
        let [FlowReport::Frames(report)] = seen.flows.as_slice() else { panic!("{seen:?}") };
        assert_eq!(report.sent_frames, report.received_frames, "{direction}: {report:?}");
        assert!((300..=700).contains(&report.sent_frames), "{direction}: {report:?}");
    }
}

#[test]
fn frames_are_what_the_packaged_server_counted() {
    let server = Packaged::start();
    let mut bed = server.testbed();
    for direction in [Direction::Upload, Direction::Download] {
        let seen = bed.run(&trial(vec![(direction, frames())])).unwrap();
        let [FlowReport::Frames(report)] = seen.flows.as_slice() else { panic!("{seen:?}") };
        assert_eq!(report.sent_frames, report.received_frames, "{report:?}");
        // No more than 400 are sent, and fewer by a busy host; a server sends until it hears of the end.
        let counted = if direction == Direction::Upload { 300..=400 } else { 300..=700 };
        assert!(counted.contains(&report.sent_frames), "{report:?}");
        assert_eq!(report.sent_bytes, 1000 * report.sent_frames);
        assert!(report.jitter.is_some_and(|jitter| jitter.mean.is_none()), "{report:?}");
        assert_eq!(report.lossy_seconds, None);
        let is_download = direction == Direction::Download;
        assert_eq!(report.out_of_order_frames, is_download.then_some(0));
        assert_eq!(sum(&report.series, |slot| slot.sent_bytes).is_some(), !is_download);
        assert_eq!(sum(&report.series, |slot| slot.received_bytes).is_some(), is_download);
    }
    let said = server.said();
    let packets = said["end"]["sum"]["packets"].as_u64();
    assert!(packets.is_some_and(|packets| (300..=700).contains(&packets)), "{:#}", said["end"]);
}

/// The server sends for 200 ms more, in which the last packets from here arrive: 160 packets that are
/// of no trial. Its 400 are cut by this end's clock, which a busy host may stop for a while.
#[test]
fn frames_both_ways_are_those_of_the_trial_and_none_of_the_time_after_it() {
    let server = Packaged::start();
    let mut bed = server.testbed();
    let both = vec![(Direction::Download, frames()), (Direction::Upload, frames())];
    let seen = bed.run(&trial(both)).unwrap();
    let [FlowReport::Frames(download), FlowReport::Frames(upload)] = seen.flows.as_slice() else {
        panic!("{seen:?}");
    };
    assert!((300..=480).contains(&download.received_frames), "{download:?}");
    assert_eq!(download.sent_frames, download.received_frames, "{download:?}");
    assert_eq!(sum(&download.series, |slot| slot.received_bytes), Some(download.received_bytes));
    assert_eq!(upload.sent_frames, upload.received_frames, "{upload:?}");
    assert!(download.series.iter().all(|slot| slot.steady), "{download:?}");
}

#[test]
fn probes_are_answered_by_the_kernel_behind_the_server() {
    let server = Packaged::start();
    let mut bed = server.testbed();
    let probes = |packet_bytes| {
        let interval = Duration::from_millis(10);
        Load::Probes(ProbesLoad { packet_bytes, answer_bytes: 100, count: 4, interval })
    };
    let seen = bed.run(&trial(vec![(Direction::Upload, probes(100))])).unwrap();
    let [FlowReport::Probes(rtt)] = seen.flows.as_slice() else { panic!("{seen:?}") };
    assert_eq!((rtt.sent, rtt.answered, rtt.by), (4, 4, ProbedBy::Tcp));
    assert!(rtt.rtt.is_some_and(|rtt| rtt.min < Duration::from_millis(50)), "{rtt:?}");
    for direction in [Direction::Upload, Direction::Download] {
        let sizes = vec![(direction, probes(1500)), (direction, probes(576))];
        let seen = bed.run(&trial(sizes)).unwrap();
        let passed =
            |flow: &FlowReport| matches!(flow, FlowReport::Probes(probes) if probes.answered > 0);
        assert!(seen.flows.iter().all(passed), "{direction}: {seen:?}");
    }
}

#[test]
fn what_a_stock_server_cannot_do_is_said_before_it_is_asked() {
    let server = Packaged::start();
    let mut bed = server.testbed();
    let mut refused = |flows| match bed.run(&trial(flows)) {
        Err(Abort::Testbed(sentence)) => sentence,
        other => panic!("{other:?}"),
    };
    let bursts = Load::Bursts(BurstsLoad {
        frame_bytes: 1000,
        frames_per_burst: 10,
        bursts: 1,
        period: Duration::from_millis(500),
        rate_l1: None,
        spacing: BurstSpacing::OnSchedule,
    });
    assert!(refused(vec![(Direction::Upload, bursts)]).contains("`fullpipe serve`"));
    let both = vec![(Direction::Upload, tcp()), (Direction::Upload, frames())];
    assert!(refused(both).contains("either TCP or UDP"));
    let Load::Tcp(load) = tcp() else { panic!("another load") };
    let lone = Load::Tcp(TcpLoad { connections: 1, ..load });
    let uneven = vec![(Direction::Upload, lone), (Direction::Download, tcp())];
    assert!(refused(uneven).contains("as many streams"));
    let Load::Tcp(load) = tcp() else { panic!("another load") };
    let transfer = Load::Tcp(TcpLoad { sender: Sender::Transfer { bytes: 1 }, ..load });
    let mixed = vec![(Direction::Upload, transfer), (Direction::Upload, tcp())];
    assert!(refused(mixed).contains("by count or by time"));
    let mut refused_spec = |spec| match bed.run(&Trial { flows: vec![spec], ..trial(Vec::new()) }) {
        Err(Abort::Testbed(sentence)) => sentence,
        other => panic!("{other:?}"),
    };
    let late = FlowSpec {
        begins: Duration::from_millis(100),
        ..FlowSpec::new(Direction::Download, Family::Ipv4, Dscp::BEST_EFFORT, tcp())
    };
    assert!(refused_spec(late).contains("only TCP flows from this end"));
}
