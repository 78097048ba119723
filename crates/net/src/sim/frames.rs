//! A paced stream of numbered frames, one way.

use alloc::sync::Arc;
use core::time::Duration;

use fp_model::{Dscp, FramesLoad, FramesReport, Sample, SentBy, Slot};

use crate::sim::host::End;
use crate::sim::identity::Identity;
use crate::sim::network::{Network, Packet, Sleeper};
use crate::sim::series::Series;
use crate::stream::{
    Arrival, ArrivalTally, DepartureTally, Due, PendingFrames, Schedule, frames_report,
};

/// Frames that are overdue leave together, as many as share a system call of the engine.
const TOGETHER_MAX: usize = 32;

#[derive(Debug)]
pub(crate) struct FrameFlow {
    pub(crate) identity: Identity,
    schedule: Arc<Schedule>,
    pending: PendingFrames,
    departures: DepartureTally,
    arrivals: ArrivalTally,
    corrupt_frames: u64,
    series: Series,
}

impl FrameFlow {
    pub(crate) fn new(identity: Identity, load: &FramesLoad) -> Self {
        let schedule = Arc::new(Schedule::begun_after(identity.begins, load, &identity.timing));
        Self {
            identity,
            pending: PendingFrames::of(&schedule),
            departures: DepartureTally::new(Arc::clone(&schedule)),
            arrivals: ArrivalTally::new(Arc::clone(&schedule)),
            schedule,
            corrupt_frames: 0,
            series: Series::default(),
        }
    }

    pub(crate) fn start(&mut self, network: &mut Network) {
        let Identity { index, direction, start, .. } = self.identity;
        let end = End::that_sends(direction);
        let host = network.host(end);
        let passed = host.own(network.now().since(start));
        if let Some(due) = self.pending.next(passed) {
            let at = start + host.when(self.pending.leaves_at(due));
            network.set_alarm(at, index, Sleeper::Schedule, end);
        }
    }

    /// A frame is due.
    pub(crate) fn on_alarm(&mut self, network: &mut Network) {
        let Identity { direction, start, .. } = self.identity;
        let passed = network.host(End::that_sends(direction)).own(network.now().since(start));
        self.pending.next(passed);
        let mut together = [Due::default(); TOGETHER_MAX];
        let count = self.pending.take(passed, Duration::MAX, &mut together).unwrap_or(0);
        for due in together.iter().take(count) {
            // What does not fit the interface never leaves it.
            let packet_bytes = self.identity.packet_bytes(self.schedule.sizes().of(due.sequence));
            if packet_bytes <= self.identity.interface_mtu_bytes {
                self.send(*due, passed, packet_bytes, network);
            }
        }
        self.start(network);
    }

    fn send(&mut self, due: Due, passed: Duration, packet_bytes: u32, network: &mut Network) {
        let Identity { index, direction, dscp, start, .. } = self.identity;
        let unsent_before = self.departures.unsent_before(due.sequence, 0);
        self.series.sent_bytes += self.departures.on_departure(due, passed);
        let sent_at = start + passed;
        let packet = Packet::Numbered { sequence: due.sequence, unsent_before, sent_at };
        network.send(index, direction, dscp, packet_bytes, packet);
    }

    pub(crate) fn on_packet(&mut self, packet: Packet, dscp: Dscp, network: &Network) {
        let Packet::Numbered { sequence, unsent_before, sent_at } = packet else { return };
        let Identity { direction, start, .. } = self.identity;
        let receiver = network.host(End::that_receives(direction));
        let arrival = Arrival {
            sequence,
            unsent_before,
            sent_at: sent_at.since(start),
            arrived_at_ns: receiver.stamp_ns(start, network.now()),
            dscp: Some(dscp),
            // Nothing on the simulated path changes it.
            ecn: Some(self.identity.ecn),
        };
        self.series.received_bytes += self.arrivals.on_arrival(&arrival).unwrap_or(0);
    }

    pub(crate) const fn on_corrupt(&mut self) {
        self.corrupt_frames += 1;
    }

    pub(crate) fn close_slot(&mut self, slot: Slot) -> Sample {
        self.series.close(slot, None)
    }

    /// The two ends' clocks are apart by `clock_error` at most, as far as they know.
    pub(crate) fn into_report(self, network: &Network, clock_error: Duration) -> FramesReport {
        let sent = self.departures.finish(SentBy::UdpSocket);
        let mut received = self.arrivals.finish();
        let receiver = network.host(End::that_receives(self.identity.direction));
        received.received_frames += receiver.trouble().claims_frames;
        FramesReport {
            corrupt_frames: Some(self.corrupt_frames),
            series: self.series.into_samples(),
            ..frames_report(&self.schedule, sent, received, clock_error)
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec;

    use fp_model::{
        Direction, DscpCount, Family, FlowReport, FlowSpec, FrameSizes, Jitter, Load, LossySecond,
        Pace, Rate, Testbed as _, Timing, Trial,
    };

    use super::*;
    use crate::path::{LinkSpec, LossSpec, OutageSpec, PathSpec, Probability, RemarkSpec};
    use crate::sim::SimTestbed;

    const TIMING: Timing = Timing {
        warm_up: Duration::from_secs(1),
        steady: Duration::from_secs(4),
        settle: Duration::from_secs(1),
    };

    /// 1,000 frames a second of 1,000 bytes across `link`, whose line is 1 Gbit/s and 10 ms long.
    fn across(link: LinkSpec, sizes: FrameSizes) -> FramesReport {
        let rate = Rate::bps(sizes.cycle_bytes() * 8_000 / sizes.lengths().len() as u64);
        let link = LinkSpec {
            line_rate: Some(Rate::mbps(1000)),
            delay: Duration::from_millis(10),
            ..link
        };
        let path = PathSpec::symmetric("test", vec![link]);
        let load = Load::Frames(FramesLoad::new(sizes, Pace::Constant { rate }));
        let dscp = Dscp::new(46).unwrap();
        let flow = FlowSpec::new(Direction::Download, Family::Ipv4, dscp, load);
        let trial = Trial { name: String::from("test"), flows: vec![flow], timing: TIMING };
        let bed = SimTestbed::new(&path, 1).with_patience(Duration::from_secs(60));
        let mut seen = { bed }.run(&trial).unwrap();
        let Some(FlowReport::Frames(report)) = seen.flows.pop() else { panic!("{seen:?}") };
        report
    }

    fn fixed() -> FrameSizes {
        FrameSizes::fixed(1000)
    }

    #[test]
    fn a_frame_takes_its_time_on_the_line_and_the_delay_of_the_path() {
        let report = across(LinkSpec::default(), fixed());
        // 1,020 bytes on the line of 1 Gbit/s are 8.16 µs.
        let taken = Duration::from_nanos(10_008_160);
        let delay = report.delay.unwrap();
        assert_eq!([delay.min, delay.mean, delay.p50, delay.p99_9, delay.max], [taken; 5]);
        assert_eq!((delay.error, delay.samples), (Duration::ZERO, 4000));
        let none = Jitter { mean: Some(Duration::ZERO), ..Jitter::default() };
        assert_eq!(report.jitter, Some(none));
        assert_eq!(report.dscp_received, [DscpCount { dscp: Dscp::new(46), frames: 4000 }]);
        // The simulated host is always on time.
        assert_eq!((report.gaps.lateness.max, report.gaps.gap.max), Default::default());
        assert_eq!((report.gaps.lateness.count, report.gaps.gap.count), (4000, 3999));
        assert_eq!((report.loss_events, report.lossy_seconds), (Some(0), Some(vec![])));
    }

    #[test]
    fn the_delay_of_a_mix_varies_by_what_its_lengths_take_on_the_line() {
        // 120 and 1,520 bytes on the line: 0.96 and 12.16 µs, 11.2 µs apart.
        let report = across(LinkSpec::default(), FrameSizes::new(vec![100, 1500]).unwrap());
        let delay = report.delay.unwrap();
        assert_eq!(delay.min, Duration::from_nanos(10_000_960));
        assert_eq!(delay.max, Duration::from_nanos(10_012_160));
        let jitter = report.jitter.unwrap();
        assert_eq!(jitter.mean, Some(Duration::from_nanos(11_200)));
        // The estimate nears the constant |D| by a sixteenth each time.
        let gap_ns = 11_200 - jitter.rfc3550.as_nanos();
        assert!(gap_ns <= 1, "{gap_ns}");
    }

    #[test]
    fn every_lost_frame_is_an_event_of_its_second() {
        // Every 250th frame: of the 4,000 steady ones, after 1,000 of warm-up, four a second.
        let link = LinkSpec { loss: Some(LossSpec::Every(250)), ..LinkSpec::default() };
        let report = across(link, fixed());
        let lossy = |second| LossySecond { second, sent_frames: 1000, lost_frames: 4 };
        assert_eq!(report.lossy_seconds, Some(vec![lossy(0), lossy(1), lossy(2), lossy(3)]));
        assert_eq!((report.loss_events, report.longest_loss_run), (Some(16), Some(1)));
        assert_eq!(report.sent_frames - report.received_frames, 16);
    }

    #[test]
    fn an_outage_is_one_run_of_loss() {
        // From 2.4965 s on for 1.5 s: frames due at 2.497 … 3.996 s, which are 1,500, of the steady
        // seconds 1 (from 2 s on) and 2.
        let outage = OutageSpec {
            start: Duration::from_micros(2_496_500),
            lasts: Duration::from_millis(1500),
            every: None,
        };
        let report = across(LinkSpec { outage: Some(outage), ..LinkSpec::default() }, fixed());
        let lossy = |second, lost_frames| LossySecond { second, sent_frames: 1000, lost_frames };
        assert_eq!(report.lossy_seconds, Some(vec![lossy(1, 503), lossy(2, 997)]));
        assert_eq!((report.loss_events, report.longest_loss_run), (Some(1), Some(1500)));
    }

    #[test]
    fn frames_lost_to_the_very_end_are_a_run_too() {
        let outage = OutageSpec {
            start: Duration::from_micros(4_990_500),
            lasts: Duration::from_secs(9),
            every: None,
        };
        let report = across(LinkSpec { outage: Some(outage), ..LinkSpec::default() }, fixed());
        // Those due at 4.991 … 4.999 s.
        assert_eq!((report.loss_events, report.longest_loss_run), (Some(1), Some(9)));
    }

    #[test]
    fn spoilt_frames_are_lost_and_told_apart() {
        let one_in_ten = Probability::new(0.1).unwrap();
        let report = across(LinkSpec { corrupt: Some(one_in_ten), ..LinkSpec::default() }, fixed());
        let lost = report.sent_frames - report.received_frames;
        // 4,000 · 0.1 ± six standard deviations of 19; the warm-up's are told too.
        assert!((286..=514).contains(&lost), "{lost}");
        assert!(report.corrupt_frames >= Some(lost), "{:?} of {lost}", report.corrupt_frames);
        let in_seconds = report.lossy_seconds.unwrap();
        assert_eq!(in_seconds.iter().map(|second| second.lost_frames).sum::<u64>(), lost);
    }

    #[test]
    fn marks_that_the_network_changes_are_seen() {
        let remark = RemarkSpec { from: Dscp::new(46), to: Dscp::BEST_EFFORT };
        let report = across(LinkSpec { remark: vec![remark], ..LinkSpec::default() }, fixed());
        let dscp = Some(Dscp::BEST_EFFORT);
        assert_eq!(report.dscp_received, [DscpCount { dscp, frames: 4000 }]);
    }

    #[test]
    fn what_does_not_fit_the_interface_is_not_sent_and_not_lost() {
        // An interface of the simulated ends carries packets of 1,500 bytes: frames of 1,518.
        let report = across(LinkSpec::default(), FrameSizes::new(vec![1000, 1519]).unwrap());
        assert_eq!((report.planned_frames, report.sent_frames), (4000, 2000));
        assert_eq!((report.received_frames, report.received_bytes), (2000, 2_000_000));
        assert_eq!((report.loss_events, report.lossy_seconds), (Some(0), Some(vec![])));
    }
}
