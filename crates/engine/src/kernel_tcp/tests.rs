//! Both ends of a flow over loopback.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use fp_model::{CongestionControl, MicroBursts, Pace, Sender, TcpEngine, TcpLoad, Timing};

use super::*;
use crate::Marking;
use crate::half::{FlowKey, TcpReceiverHalf, TcpSenderHalf};
use crate::os::clock;

const KEY: FlowKey = *b"the flow's key!!";
const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

const LOAD: TcpLoad = TcpLoad {
    connections: 1,
    window_bytes: 1_000_000,
    mss_bytes: 1460,
    sender: Sender::Bulk,
    congestion_control: CongestionControl::Reno,
    pacing: None,
    pace: Pace::Unlimited,
    write_bytes: None,
    engine: TcpEngine::Kernel,
};

const TIMING: Timing = Timing {
    warm_up: Duration::from_millis(100),
    steady: Duration::from_millis(200),
    settle: Duration::from_millis(1000),
};

const SHORT: Timing = Timing { warm_up: Duration::ZERO, ..TIMING };

/// Live for longer than any test here lasts.
fn long_lease() -> Lease {
    Lease::new(clock::now() + Duration::from_secs(30))
}

fn soon() -> fp_model::Time {
    clock::now() + Duration::from_secs(10)
}

/// The connections of a flow: the ends that connected and the ends that accepted.
fn connections(ip: IpAddr, load: &TcpLoad) -> (Vec<TcpStream>, Vec<TcpStream>) {
    connections_bearing(ip, load, Marking::default())
}

fn connections_bearing(
    ip: IpAddr,
    load: &TcpLoad,
    marking: Marking,
) -> (Vec<TcpStream>, Vec<TcpStream>) {
    let (lease, deadline) = (long_lease(), soon());
    let listener = listen(SocketAddr::new(ip, 0), load, marking.traffic_class).unwrap();
    let far = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        let accepting = scope.spawn(|| accept(&listener, load, &KEY, Some(ip), &lease, deadline));
        let connected = connect(far, load, marking, &KEY, &lease, deadline).unwrap();
        (connected, accepting.join().unwrap().unwrap())
    })
}

fn transfer(
    senders: Vec<TcpStream>,
    receivers: Vec<TcpStream>,
    load: &TcpLoad,
    timing: &Timing,
) -> (TcpSenderHalf, TcpReceiverHalf) {
    let (lease, start) = (long_lease(), clock::now() + Duration::from_millis(5));
    std::thread::scope(|scope| {
        let sending = scope
            .spawn(|| send(senders, load, Duration::ZERO, timing, start, &lease, &mut |_, _| {}));
        let received = receive(receivers, load, timing, start, &lease, &mut |_, _| {}).unwrap();
        (sending.join().unwrap().unwrap(), received)
    })
}

fn assert_conserved(sent: &TcpSenderHalf, received: &TcpReceiverHalf, timing: &Timing) {
    let grid = timing.grid();
    assert_eq!((sent.slots.len(), received.slots.len()), (grid.len(), grid.len()));
    let whole_received: u64 = received.slots.iter().map(|slot| slot.received_bytes).sum();
    let whole_sent: u64 = sent.slots.iter().map(|slot| slot.sent_bytes).sum();
    let whole_again: u64 = sent.slots.iter().map(|slot| slot.retransmitted_bytes).sum();
    assert_eq!(whole_received, received.whole_good_bytes);
    assert_eq!(whole_sent - whole_again, received.whole_good_bytes);

    let in_steady = |of: &dyn Fn(usize) -> u64| -> u64 {
        (0..grid.len()).filter(|&slot| grid[slot].steady).map(of).sum()
    };
    let good: u64 = received.good_bytes.iter().sum();
    assert_eq!(good, in_steady(&|slot| received.slots[slot].received_bytes));
    let transmitted: u64 = sent.connections.iter().map(|c| c.transmitted_bytes).sum();
    assert_eq!(transmitted, in_steady(&|slot| sent.slots[slot].sent_bytes));
}

//= rfc6349 4.2
#[test]
fn what_the_connecting_end_sends_the_accepting_end_receives() {
    let load = TcpLoad { connections: 4, ..LOAD };
    let (connected, accepted) = connections(V4, &load);
    let (sent, received) = transfer(connected, accepted, &load, &TIMING);
    assert_conserved(&sent, &received, &TIMING);
    assert!(received.good_bytes.iter().all(|&bytes| bytes > 0));
}

#[test]
fn what_the_accepting_end_sends_the_connecting_end_receives_over_ipv6() {
    let load = TcpLoad { connections: 4, mss_bytes: 1440, ..LOAD };
    let (connected, accepted) = connections(V6, &load);
    let (sent, received) = transfer(accepted, connected, &load, &TIMING);
    assert_conserved(&sent, &received, &TIMING);
    assert!(received.good_bytes.iter().all(|&bytes| bytes > 0));
}

#[test]
fn a_thousand_connections_each_deliver_what_they_send() {
    let all = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: all.maximum, ..all };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();

    let load = TcpLoad { connections: 1000, window_bytes: 16_000, ..LOAD };
    let (connected, accepted) = connections(V4, &load);
    let (sent, received) = transfer(connected, accepted, &load, &TIMING);
    assert_conserved(&sent, &received, &TIMING);
    assert_eq!(received.good_bytes.len(), 1000);
}

/// A window without scale comes in whole segments, so up to one segment may be missing.
#[test]
fn the_window_is_what_was_asked_for_and_never_more() {
    for window_bytes in [2_000, 4_380, 31_910, 65_535, 68_400, 1_000_000, 16_000_000] {
        for accepting_end_sends in [false, true] {
            let load = TcpLoad { window_bytes, ..LOAD };
            let (mut senders, mut receivers) = connections(V4, &load);
            if accepting_end_sends {
                std::mem::swap(&mut senders, &mut receivers);
            }
            let (sent, _) = transfer(senders, receivers, &load, &SHORT);
            let effective = sent.connections[0].window_effective_bytes.unwrap();
            assert!(effective <= window_bytes, "{effective} is more than {window_bytes}");
            // The largest window needs buffers that not every machine grants to everybody.
            let granted = window_bytes.min(1_000_000);
            assert!(effective > granted - 1460, "{effective} is less than {granted}");
        }
    }
}

#[test]
fn full_segments_are_as_long_as_the_path_allows() {
    let (connected, accepted) = connections(V4, &LOAD);
    let (sent, _) = transfer(connected, accepted, &LOAD, &SHORT);
    // Timestamps, which most kernels use, take twelve bytes of options.
    assert!(matches!(sent.connections[0].segment_bytes, Some(1448 | 1460)));
}

#[test]
fn both_ends_are_marked_and_run_the_congestion_control_asked_for() {
    // DSCP 46.
    let expedited = Marking { traffic_class: 0xb8, near_port: None };
    let (connected, accepted) = connections_bearing(V4, &LOAD, expedited);
    for stream in connected.iter().chain(&accepted) {
        assert_eq!(rustix::net::sockopt::ip_tos(stream).unwrap(), 0xb8);
        assert_eq!(rustix::net::sockopt::tcp_congestion(stream).unwrap(), "reno");
    }
    let (connected, accepted) = connections_bearing(V6, &LOAD, expedited);
    for stream in connected.iter().chain(&accepted) {
        assert_eq!(rustix::net::sockopt::ipv6_tclass(stream).unwrap(), 0xb8);
    }
}

/// The most that a sender had written and not seen acknowledged at any moment of a trial, its
/// connection held to 16 Mbit/s so that a window of 50,000 bytes takes 25 ms.
fn most_unacknowledged_bytes(sender: Sender) -> u32 {
    let pacing = Some(fp_model::Rate::mbps(16));
    let load = TcpLoad { window_bytes: 50_000, sender, pacing, ..LOAD };
    let (connected, accepted) = connections(V4, &load);
    let watched = connected[0].try_clone().unwrap();
    std::thread::scope(|scope| {
        let trial = scope.spawn(|| transfer(connected, accepted, &load, &TIMING));
        let mut most = 0;
        while !trial.is_finished() {
            most = most.max(crate::os::tcp::unacknowledged_bytes(&watched).unwrap());
            std::thread::yield_now();
        }
        let (sent, received) = trial.join().unwrap();
        assert_conserved(&sent, &received, &TIMING);
        most
    })
}

#[test]
fn a_bursty_sender_never_has_more_than_a_window_on_its_way() {
    let most = most_unacknowledged_bytes(Sender::Burst);
    assert!((50_000 - 1460..=50_000).contains(&most), "{most} bytes unacknowledged");
}

#[test]
fn a_bulk_sender_always_has_more_to_send_than_the_window_takes() {
    let most = most_unacknowledged_bytes(Sender::Bulk);
    assert!(most > 100_000, "{most} bytes unacknowledged");
}

/// Four bursts of 100,000 bytes, 60 ms apart: the last is written 180 ms after the start.
#[test]
fn micro_bursts_are_written_at_their_times_and_delivered_whole() {
    let interval = Duration::from_millis(60);
    let pattern = MicroBursts { burst_bytes: 100_000, bursts: 4, interval };
    let load = TcpLoad { connections: 2, sender: Sender::MicroBurst(pattern), ..LOAD };
    let timing = Timing { steady: Duration::from_millis(400), ..SHORT };
    let (connected, accepted) = connections(V4, &load);
    let (sent, received) = transfer(connected, accepted, &load, &timing);
    assert_conserved(&sent, &received, &timing);
    assert_eq!(received.good_bytes, [400_000, 400_000]);
    let took = Duration::from_nanos(received.whole_until_ns);
    assert!(took >= Duration::from_millis(180), "{took:?}");
}

/// A trial of ten seconds, of which a transfer of a megabyte over loopback needs a small part.
#[test]
fn a_transfer_is_over_when_the_last_byte_has_arrived() {
    let sender = Sender::Transfer { bytes: 1_000_001 };
    let paced = Pace::Constant { rate: fp_model::Rate::mbps(80) };
    for (pace, write_bytes) in
        [(Pace::Unlimited, None), (Pace::Unlimited, Some(700)), (paced, Some(10_000))]
    {
        let load = TcpLoad { connections: 2, sender, pace, write_bytes, ..LOAD };
        let timing = Timing { steady: Duration::from_secs(10), ..SHORT };
        let (connected, accepted) = connections(V4, &load);
        let (sent, received) = transfer(connected, accepted, &load, &timing);
        assert_eq!(received.good_bytes, [500_001, 500_000], "{load:?}");
        assert_eq!(received.whole_good_bytes, 1_000_001);
        let slots = timing.grid().len();
        assert!(sent.slots.len() < slots && received.slots.len() < slots, "{load:?}");
        let took = Duration::from_nanos(received.whole_until_ns);
        // 500,000 bytes at 80 Mbit/s take 50 ms.
        let least = if load.pace.is_unlimited() { 0 } else { 40 };
        assert!(took >= Duration::from_millis(least) && took < timing.steady, "{took:?}: {load:?}");
        let whole_sent: u64 = sent.slots.iter().map(|slot| slot.sent_bytes).sum();
        let whole_again: u64 = sent.slots.iter().map(|slot| slot.retransmitted_bytes).sum();
        assert_eq!(whole_sent - whole_again, 1_000_001);
    }
}

/// 16 Mbit/s for 200 ms are 400,000 bytes with headers.
#[test]
fn a_paced_connection_keeps_to_its_rate() {
    let load = TcpLoad { pacing: Some(fp_model::Rate::mbps(16)), ..LOAD };
    let (connected, accepted) = connections(V4, &load);
    let (_, received) = transfer(connected, accepted, &load, &TIMING);
    let good = received.good_bytes[0];
    assert!((200_000..=480_000).contains(&good), "{good} bytes in 200 ms");
}

#[test]
fn strangers_are_refused_and_keep_nobody_waiting() {
    let (lease, deadline) = (long_lease(), soon());
    let listener = listen(SocketAddr::new(V4, 0), &LOAD, 0).unwrap();
    let far = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        let accepting = scope.spawn(|| accept(&listener, &LOAD, &KEY, Some(V4), &lease, deadline));
        let silent = TcpStream::connect(far).unwrap();
        let wrong = *b"some other key!!";
        let refused = connect(far, &LOAD, Marking::default(), &wrong, &lease, deadline);
        assert!(matches!(refused, Err(TcpError::Refused { index: 0, .. })), "{refused:?}");
        let connected = connect(far, &LOAD, Marking::default(), &KEY, &lease, deadline);
        assert_eq!(connected.unwrap().len(), 1);
        assert_eq!(accepting.join().unwrap().unwrap().len(), 1);
        drop(silent);
    });
}

#[test]
fn whoever_comes_from_elsewhere_is_refused_even_with_the_key() {
    let (lease, deadline) = (long_lease(), clock::now() + Duration::from_millis(300));
    let listener = listen(SocketAddr::new(V4, 0), &LOAD, 0).unwrap();
    let far = listener.local_addr().unwrap();
    let expected = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    std::thread::scope(|scope| {
        let accepting =
            scope.spawn(|| accept(&listener, &LOAD, &KEY, Some(expected), &lease, deadline));
        let refused = connect(far, &LOAD, Marking::default(), &KEY, &lease, soon());
        assert!(matches!(refused, Err(TcpError::Refused { .. })), "{refused:?}");
        let late = accepting.join().unwrap();
        assert!(matches!(late, Err(TcpError::Late { ready: 0, wanted: 1, .. })), "{late:?}");
    });
}

#[test]
fn a_closed_port_is_reported_with_its_address() {
    let far = TcpListener::bind((V4, 0)).unwrap().local_addr().unwrap();
    let refused = connect(far, &LOAD, Marking::default(), &KEY, &long_lease(), soon());
    let text = refused.unwrap_err().to_string();
    assert!(text.starts_with(&format!("cannot connect to {far}: ")), "{text}");
}

/// The lease of both ends is 550 ms old at first, so that it ends 200 ms later.
#[test]
fn both_ends_stop_when_the_peer_has_been_silent_for_three_heartbeats() {
    let hour = Timing { steady: Duration::from_secs(3600), ..TIMING };
    let (connected, accepted) = connections(V4, &LOAD);
    let begun = clock::now();
    let lease = Lease::new(begun - Duration::from_millis(550));
    std::thread::scope(|scope| {
        let run = || send(connected, &LOAD, Duration::ZERO, &hour, begun, &lease, &mut |_, _| {});
        let sending = scope.spawn(run);
        let received = receive(accepted, &LOAD, &hour, begun, &lease, &mut |_, _| {});
        let stopped = |error| matches!(error, TcpError::PeerSilent | TcpError::Broken { .. });
        assert!(received.is_err_and(stopped));
        assert!(sending.join().unwrap().is_err_and(stopped));
    });
    assert!(clock::now().since(begun) < Duration::from_millis(1200));
}

#[test]
fn data_of_a_day_long_trial_renews_the_lease_within_its_long_slots() {
    // Slots of 36 s.
    let day = Timing { warm_up: Duration::ZERO, steady: Duration::from_secs(86_400), ..TIMING };
    assert!(day.grid()[0].end > Duration::from_secs(30));
    let (connected, accepted) = connections(V4, &LOAD);
    let begun = clock::now();
    let (near, far) = (long_lease(), Lease::new(begun));
    std::thread::scope(|scope| {
        let sending = scope
            .spawn(|| send(connected, &LOAD, Duration::ZERO, &day, begun, &near, &mut |_, _| {}));
        let receiving = far.for_receiver();
        let run = move || receive(accepted, &LOAD, &day, begun, &receiving, &mut |_, _| {});
        let received = scope.spawn(run);
        // No longer than a receiver waits for a sign of life.
        let deadline = begun + Duration::from_secs(3);
        while far.last_sign_of_life() < begun + Duration::from_millis(500) {
            assert!(clock::now() < deadline, "data was no sign of life");
            std::thread::yield_now();
        }
        near.stop();
        far.stop();
        assert!(sending.join().unwrap().is_err());
        assert!(received.join().unwrap().is_err());
    });
}

#[test]
fn a_sender_whose_peer_falls_silent_drops_what_is_still_queued() {
    let hour = Timing { steady: Duration::from_secs(3600), ..TIMING };
    let (connected, accepted) = connections(V4, &LOAD);
    let begun = clock::now();
    let lease = Lease::new(begun - Duration::from_millis(650));
    let stopped = send(connected, &LOAD, Duration::ZERO, &hour, begun, &lease, &mut |_, _| {});
    assert!(matches!(stopped, Err(TcpError::PeerSilent)), "{stopped:?}");

    let mut reader = &accepted[0];
    reader.set_nonblocking(false).unwrap();
    reader.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let end = std::io::copy(&mut reader, &mut std::io::sink());
    assert_eq!(end.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
}

#[test]
fn a_connection_that_breaks_is_named() {
    let hour = Timing { steady: Duration::from_secs(3600), ..TIMING };
    for sender in [Sender::Bulk, Sender::Burst] {
        let load = TcpLoad { connections: 2, sender, ..LOAD };
        let (connected, mut accepted) = connections(V4, &load);
        let gone = accepted.remove(1);
        reset([&gone]);
        drop(gone);
        let broken = send(
            connected,
            &load,
            Duration::ZERO,
            &hour,
            clock::now(),
            &long_lease(),
            &mut |_, _| {},
        );
        assert!(matches!(broken, Err(TcpError::Broken { index: 1, .. })), "{broken:?}");
    }
}
