//! Many clients at once, over TCP and UDP, all from one address.

use std::thread;
use std::time::Duration;

use fp_engine::StopFlag;
use fp_engine::iperf3::client::{self, ClientEvent, ClientPlan, ClientReport};
use fp_engine::iperf3::wire::{End, Transport, Way};
use fp_model::Rate;

use crate::real::iperf3::far_side::{Serving, plan};

fn conserved(report: &ClientReport) {
    for stream in &report.streams {
        let (sent, received) = (stream.sent.unwrap(), stream.received.unwrap());
        let received_bytes = received.bytes + received.late_bytes.unwrap_or(0);
        match received.arrival {
            None => assert!(received_bytes <= sent.bytes, "{stream:?}"),
            Some(arrival) => {
                let packets = received.packets.unwrap();
                assert!(packets + arrival.lost_packets <= sent.packets.unwrap(), "{stream:?}");
                assert_eq!(received.bytes, packets * 1000, "{stream:?}");
            }
        }
    }
}

#[test]
fn twelve_clients_test_at_once_and_none_gets_what_is_anothers() {
    let serving = Serving::start(None, 16);
    thread::scope(|scope| {
        for number in 0..12_u32 {
            let serving = &serving;
            scope.spawn(move || {
                let transport = if number % 2 == 0 { Transport::Udp } else { Transport::Tcp };
                let ways = [Way::Forward, Way::Reverse, Way::Both];
                let plan = ClientPlan {
                    way: ways[number as usize / 2 % 3],
                    streams: 1 + number % 3,
                    end: End::After(Duration::from_secs(1)),
                    // A rate of its own tells each client's bytes from the others'.
                    rate: Some(Rate::bps(1_000_000 + u64::from(number) * 200_000)),
                    block_bytes: Some(1000),
                    ..plan(serving.address, transport)
                };
                let report = client::run(&plan, &mut |_| {}, &StopFlag::default()).unwrap();
                assert!(report.complete);
                conserved(&report);
                let rate = plan.rate.unwrap().as_bps() as f64;
                for stream in &report.streams {
                    let sent = stream.sent.unwrap().bytes as f64 * 8.0;
                    assert!((0.9..1.2).contains(&(sent / rate)), "{number}: {stream:?}");
                }
            });
        }
    });
    let said = serving.finish();
    assert_eq!(said.len(), 12, "{said:?}");
}

/// The server has room for one test, and is asked for the next as soon as its results are read.
#[test]
fn a_client_that_comes_right_after_another_is_served() {
    let serving = Serving::start(None, 1);
    let short = ClientPlan { end: End::Bytes(1 << 16), ..plan(serving.address, Transport::Tcp) };
    for _ in 0..20 {
        let report = client::run(&short, &mut |_| {}, &StopFlag::default()).unwrap();
        assert!(report.complete);
    }
}

#[test]
fn a_server_that_is_full_says_so() {
    let serving = Serving::start(None, 1);
    let stop = StopFlag::default();
    let long = ClientPlan {
        end: End::Never,
        rate: Some(Rate::mbps(1)),
        ..plan(serving.address, Transport::Tcp)
    };
    thread::scope(|scope| {
        let (started, has_started) = std::sync::mpsc::channel();
        let (stop, long) = (&stop, &long);
        let first = scope.spawn(move || {
            let mut tell = |event| {
                if let ClientEvent::Started(_) = event {
                    started.send(()).unwrap();
                }
            };
            client::run(long, &mut tell, stop)
        });
        has_started.recv_timeout(Duration::from_secs(10)).unwrap();
        let second = plan(serving.address, Transport::Tcp);
        let refused = client::run(&second, &mut |_| {}, &StopFlag::default()).unwrap_err();
        assert!(refused.to_string().contains("busy"), "{refused}");
        stop.set();
        let report = first.join().unwrap().unwrap();
        assert!(!report.complete && report.streams[0].sent.is_some());
        assert_eq!(report.streams[0].received, None);
    });
}
