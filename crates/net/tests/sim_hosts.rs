//! Simulated hosts that are not ideal: what becomes of frames, bursts and connections, and what the
//! hosts say of themselves.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use fp_model::{
    BurstSpacing, BurstsLoad, CongestionControl, Direction, Dscp, Family, FlowReport, FlowSpec,
    FrameSizes, FramesLoad, FramesReport, Load, Observation, Pace, Rate, Sender, TcpEngine,
    TcpLoad, Testbed as _, Timing, Trial,
};
use fp_net::path::{LinkSpec, PathSpec};
use fp_net::sim::{
    ClockTrouble, HostTrouble, Intake, Part, SimTestbed, Stops, Trouble, WrongStamps,
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// 2.2 s in all.
const TIMING: Timing = Timing { warm_up: ms(100), steady: ms(2000), settle: ms(100) };

/// A gigabit line of 10 ms, upwards.
fn run(load: Load, trouble: Trouble) -> Observation {
    let link = LinkSpec { line_rate: Some(Rate::mbps(1000)), delay: ms(10), ..LinkSpec::default() };
    let path = PathSpec::symmetric("test", vec![link]);
    let flow = FlowSpec::new(Direction::Upload, Family::Ipv4, Dscp::BEST_EFFORT, load);
    let trial = Trial { name: "test".into(), flows: vec![flow], timing: TIMING };
    SimTestbed::new(&path, 1).with_trouble(trouble).run(&trial).unwrap()
}

/// 1,000 frames a second of 1,000 bytes, each 10.00816 ms on its way.
fn stream(trouble: Trouble) -> (FramesReport, Observation) {
    let pace = Pace::Constant { rate: Rate::mbps(8) };
    let seen = run(Load::Frames(FramesLoad::new(FrameSizes::fixed(1000), pace)), trouble);
    let [FlowReport::Frames(report)] = &seen.flows[..] else { panic!("{seen:?}") };
    (report.clone(), seen)
}

const ON_ITS_WAY: Duration = Duration::from_nanos(10_008_160);

fn near(near: HostTrouble) -> Trouble {
    Trouble { near, ..Trouble::default() }
}

fn far(far: HostTrouble) -> Trouble {
    Trouble { far, ..Trouble::default() }
}

/// Once, for 55 ms, in the steady time.
fn stopped(part: Part) -> HostTrouble {
    let stop = Stops { from: ms(1000), lasts: ms(55), every: None, part, is_counted: true };
    HostTrouble { stops: vec![stop], ..HostTrouble::default() }
}

#[test]
fn a_trouble_that_is_none_changes_nothing() {
    let quiet = stream(Trouble::default());
    assert_eq!(quiet.1.near, Default::default());
    assert_eq!((quiet.1.clocks, quiet.1.emulation), (None, None));
    assert_eq!((quiet.0.sent_frames, quiet.0.received_frames), (2000, 2000));
}

/// Those due 5 ms before it goes on, and later, are sent; the others are not, and are not lost.
#[test]
fn a_sender_that_stood_still_sends_what_is_not_too_late() {
    let (report, seen) = stream(near(stopped(Part::Program)));
    assert_eq!(report.planned_frames - report.sent_frames, 50);
    assert_eq!((report.received_frames, report.loss_events), (report.sent_frames, Some(0)));
    assert_eq!(report.gaps.lateness.max, ms(5));
    assert_eq!((seen.near.longest_stall, seen.far.longest_stall), (ms(55), ms(0)));
}

#[test]
fn a_stop_that_the_statistics_do_not_count_is_no_stall() {
    let mut silent = stopped(Part::Program);
    silent.stops[0].is_counted = false;
    let (report, seen) = stream(near(silent));
    assert_eq!((report.planned_frames - report.sent_frames, seen.near.longest_stall), (50, ms(0)));
}

/// The kernel stamps what arrives, unless it stands still itself.
#[test]
fn a_program_that_stands_still_receives_on_time_and_a_host_does_not() {
    let (report, seen) = stream(far(stopped(Part::Program)));
    assert_eq!(report.delay.unwrap().max, ON_ITS_WAY);
    assert_eq!(seen.far.longest_stall, ms(55));
    let (report, _) = stream(far(stopped(Part::Host)));
    assert_eq!((report.received_frames, report.delay.unwrap().min), (2000, ON_ITS_WAY));
    let late = report.delay.unwrap().max - ON_ITS_WAY;
    assert!((ms(54)..=ms(55)).contains(&late), "{late:?}");
}

/// 500 of 1,000 frames in a second; a buffer of 100 is full after 0.2 s.
#[test]
fn what_a_receiver_does_not_take_in_time_it_drops_and_counts_if_it_is_honest() {
    let intake = Intake { packets_per_second: 500, room_packets: 100, is_counted: true };
    let slow = |is_counted| {
        let intake = Some(Intake { is_counted, ..intake });
        stream(far(HostTrouble { intake, ..HostTrouble::default() }))
    };
    let (report, seen) = slow(true);
    let lost = report.sent_frames - report.received_frames;
    assert!(lost.abs_diff(950) <= 2, "{lost}");
    assert!(seen.far.dropped_packets.abs_diff(lost) <= 50, "the warm-up's besides: {seen:?}");
    assert!(seen.far.busiest_thread > 0.9, "{}", seen.far.busiest_thread);
    let (silent, seen) = slow(false);
    assert_eq!((silent.received_frames, seen.far.dropped_packets), (report.received_frames, 0));
}

#[test]
fn a_sender_that_is_too_slow_leaves_frames_out() {
    let slow = HostTrouble { sends_per_second: Some(500), ..HostTrouble::default() };
    let (report, seen) = stream(near(slow));
    assert!(report.sent_frames.abs_diff(1000) <= 10, "{}", report.sent_frames);
    assert_eq!(report.loss_events, Some(0));
    assert!(seen.near.busiest_thread > 0.9, "{}", seen.near.busiest_thread);
}

/// 700 µs ahead and 100 µs in a second too fast: after 2.1 s, 910 µs.
#[test]
fn a_clock_that_is_apart_and_drifts_shows_in_delays_and_in_the_error_that_is_known() {
    let clock =
        ClockTrouble { ahead_ns: 700_000, drift_ns_per_s: 100_000, ..ClockTrouble::default() };
    let (report, seen) = stream(far(HostTrouble { clock, ..HostTrouble::default() }));
    let delay = report.delay.unwrap();
    let micros = |time: Duration| (time - ON_ITS_WAY).as_micros();
    assert_eq!((micros(delay.min), micros(delay.max)), (711, 910));
    let error = seen.clocks.unwrap().error.as_micros();
    assert_eq!((error, delay.error), (920, seen.clocks.unwrap().error));
    let claimed = Duration::from_micros(5);
    let clock = ClockTrouble { claimed_error: Some(claimed), ..clock };
    let (report, _) = stream(far(HostTrouble { clock, ..HostTrouble::default() }));
    assert_eq!(report.delay.unwrap().error, claimed);
}

/// For 100 of 2,000 frames the receiver's wall clock is 3 ms ahead.
#[test]
fn a_wall_clock_that_is_set_makes_stamps_wrong_for_a_while() {
    let stamps = Some(WrongStamps { from: ms(1000), lasts: ms(100), by_ns: 3_000_000 });
    let clock = ClockTrouble { stamps, ..ClockTrouble::default() };
    let (report, _) = stream(far(HostTrouble { clock, ..HostTrouble::default() }));
    let delay = report.delay.unwrap();
    assert_eq!((delay.min, delay.max), (ON_ITS_WAY, ON_ITS_WAY + ms(3)));
    assert_eq!(delay.mean, ON_ITS_WAY + ms(3) / 20);
}

#[test]
fn a_receiver_may_claim_more_than_was_sent() {
    let (report, _) = stream(far(HostTrouble { claims_frames: 10, ..HostTrouble::default() }));
    assert_eq!((report.sent_frames, report.received_frames), (2000, 2010));
}

/// The network's own host stands still for 8 of 80 ms: a tenth of the frames are late, each eighth of
/// them by more than 7 ms.
#[test]
fn an_emulated_network_says_how_late_it_was() {
    let part = Part::Program;
    let stops = Stops { from: ms(5), lasts: ms(8), every: Some(ms(80)), part, is_counted: true };
    let (report, seen) = stream(Trouble { network: Some(stops), ..Trouble::default() });
    let emulation = seen.emulation.unwrap();
    let late = report.delay.unwrap().max - ON_ITS_WAY;
    assert!((ms(7)..=ms(8)).contains(&late), "{late:?}");
    assert_eq!(emulation.late_max, late);
    assert!((ms(7)..=late).contains(&emulation.late_p99), "{emulation:?}");
}

/// Bursts of 42 frames each 100 ms; the sixth begins at 600 ms.
fn bursts(spacing: BurstSpacing, trouble: Trouble) -> Vec<(u32, Duration)> {
    let load = BurstsLoad {
        frame_bytes: 1518,
        frames_per_burst: 42,
        bursts: 10,
        period: ms(100),
        rate_l1: None,
        spacing,
    };
    let seen = run(Load::Bursts(load), trouble);
    let [FlowReport::Bursts(report)] = &seen.flows[..] else { panic!("{seen:?}") };
    report.bursts.iter().map(|burst| (burst.burst, burst.sent_from)).collect()
}

/// What leaves when the steady time is over would come when nobody listens any more.
#[test]
fn a_burst_that_a_host_is_too_slow_for_ends_with_the_steady_time() {
    let load = BurstsLoad {
        frame_bytes: 1518,
        frames_per_burst: 3000,
        bursts: 1,
        period: ms(2000),
        rate_l1: None,
        spacing: BurstSpacing::OnSchedule,
    };
    let slow = HostTrouble { sends_per_second: Some(1000), ..HostTrouble::default() };
    let seen = run(Load::Bursts(load), near(slow));
    let [FlowReport::Bursts(report)] = &seen.flows[..] else { panic!("{seen:?}") };
    let [burst] = &report.bursts[..] else { panic!("{report:?}") };
    assert_eq!((burst.sent_frames, burst.received_frames), (2000, 2000));
    assert!((ms(1999)..ms(2000)).contains(&burst.sent_until), "{burst:?}");
}

/// From 595 to 705 ms: the burst due at 600 ms is too late when the next is due.
#[test]
fn a_burst_whose_successor_is_due_is_left_out_and_bursts_apart_are_moved() {
    let stop =
        Stops { from: ms(595), lasts: ms(110), every: None, part: Part::Program, is_counted: true };
    let trouble = near(HostTrouble { stops: vec![stop], ..HostTrouble::default() });
    let on_schedule = bursts(BurstSpacing::OnSchedule, trouble.clone());
    let numbers: Vec<u32> = on_schedule.iter().map(|(burst, _)| *burst).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 6, 7, 8, 9]);
    assert_eq!(on_schedule[5].1, ms(5));
    let apart = bursts(BurstSpacing::Apart, trouble);
    let late: Vec<Duration> = apart.iter().map(|(_, from)| *from).collect();
    assert_eq!(late[..5], [ms(0); 5]);
    assert_eq!(late[5..], [ms(105); 5]);
}

fn received(trouble: Trouble) -> (u64, Vec<u64>) {
    let load = TcpLoad {
        connections: 1,
        window_bytes: 64_000,
        mss_bytes: 1460,
        sender: Sender::Bulk,
        congestion_control: CongestionControl::Cubic,
        pacing: None,
        pace: Pace::Unlimited,
        write_bytes: None,
        engine: TcpEngine::Kernel,
    };
    let seen = run(Load::Tcp(load), trouble);
    let [FlowReport::Tcp(report)] = &seen.flows[..] else { panic!("{seen:?}") };
    let slots = report.series.iter().map(|slot| slot.received_bytes.unwrap()).collect();
    (report.whole_good_bytes, slots)
}

/// A second without the program at either end: its kernel goes on until the receive buffer is full,
/// a window, or the send buffer is empty, a window and a little. 64,000 bytes take 20 ms otherwise.
#[test]
fn a_kernel_goes_on_without_its_program_for_as_long_as_its_buffers_last() {
    let stop = Stops {
        from: ms(1000),
        lasts: ms(1000),
        every: None,
        part: Part::Program,
        is_counted: true,
    };
    let host = HostTrouble { stops: vec![stop], ..HostTrouble::default() };
    let (whole, _) = received(Trouble::default());
    for trouble in [near(host.clone()), far(host)] {
        let (less, slots) = received(trouble);
        // Slots of 50 ms; the stop takes those from 1.05 s to 2 s.
        let meanwhile: u64 = slots[22..40].iter().sum();
        // A closed window is probed with a byte now and then.
        assert!(meanwhile <= 4, "{slots:?}");
        let within: u64 = slots[20..22].iter().sum();
        assert!((32_000..=64_000 * 5).contains(&within), "{within}");
        assert!(less > whole * 45 / 100 && less < whole * 62 / 100, "{less} of {whole}");
    }
}
