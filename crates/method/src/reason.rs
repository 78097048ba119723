//! Every reason that a result can have: what it says, and what its reader can do.

use strum::{EnumIter, EnumMessage, IntoEnumIterator as _, IntoStaticStr};

/// Names a reason, a self-check or an event in documents; readers know them by it from one version to the
/// next. The manual's list and the schema of results are made of the comments here: what the reason says, and
/// in a second paragraph what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, EnumMessage, IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Code {
    // What became of the run.
    /// The run was stopped before its end, and what was measured until then is kept.
    ///
    /// Run it again.
    Stopped,
    /// The far end answered no more.
    ///
    /// See whether `fullpipe serve` still runs there and the path is up, then run it again.
    FarEndLost,
    /// A trial could not be run.
    ///
    /// The text says what was refused, and `fullpipe doctor` at that end what it may do.
    TrialNotRun,
    /// A trial ended before its time, and the text has what arrived until then.
    ///
    /// Run it again.
    TrialBrokenOff,
    /// Nothing arrived for a while, or the ends had no contact, and the trial was repeated.
    ///
    /// Look at the path at that time: a line or a route was down.
    TrialRepeated,
    /// The ends had no contact for a while during a trial that counts.
    ///
    /// Look at the path at that time: a line or a route was down. What was due counts as lost.
    ContactLost,
    /// Nothing of what was sent arrived for a while.
    ///
    /// Look at the path at that time: a line or a route was down. What was due counts as lost.
    Outage,
    /// The far end ran trials of others at the same time.
    ///
    /// Run it again when it is free, or let it serve one at a time (`fullpipe serve --max-sessions 1`).
    FarEndShared,
    /// An end may not open packet sockets, and more than 50,000 frames a second went through its UDP sockets.
    ///
    /// Give that end `CAP_NET_RAW` if it is to send more.
    NoPacketSockets,
    // Self-checks of the tester.
    /// The counts of the two ends contradict each other.
    ///
    /// Run it again; if it stays, something on the path alters or doubles packets, or an end has a fault.
    CountsConserved,
    /// A criterion was given and nothing was measured for it.
    ///
    /// The text says which step is missing.
    CriteriaNotMeasured,
    /// An end dropped packets that had arrived.
    ///
    /// Lower the rate, send longer frames, or give that end `CAP_NET_RAW`.
    TesterDrops,
    /// A sender could not send what was planned.
    ///
    /// Lower the rate, send longer frames, or end other programs there.
    FramesUnsent,
    /// A host kept an end from running for too long.
    ///
    /// End other programs, or take a machine with processors of its own.
    TesterStall,
    /// A thread used a whole processor.
    ///
    /// Lower the rate, or let more connections share it (`-P`).
    BusiestThread,
    /// A round trip under load was shorter than those of the idle path.
    ///
    /// Run it again: the path was loaded, or it changed, while the baseline was measured.
    BaselineRttIsLowest,
    /// The host let the emulated network pass packets too late.
    ///
    /// Run it again on a host that does less, or in virtual time (`fullpipe sim`).
    EmulationLateness,
    /// No burst of a trial left as planned or arrived without a loss in the tester.
    ///
    /// As for `frames_unsent`.
    TrialsNotAsPlanned,
    /// The tester disturbed a trial each time that it was tried.
    ///
    /// As for `tester_stall`.
    TrialsSpoiltByTester,
    /// Bursts did not leave as planned each time that they were tried.
    ///
    /// As for `tester_stall`.
    SpoiltTrials,
    /// The tester disturbed a step of a service each time that it was tried.
    ///
    /// As for `tester_stall`.
    StepsSpoiltByTester,
    /// The near end did not get to ask for all connections.
    ///
    /// Give the ramp more time, or take a faster host.
    ConnectionsUnasked,
    /// Payload arrived that was not sent, though its checksum is right.
    ///
    /// Look for a device on the path that rewrites payload.
    CorruptPayload,
    // The path.
    /// The path takes smaller packets than the interfaces at its ends.
    ///
    /// Set the MTU at the ends to that of the path, or accept it.
    PathMtu,
    /// The path MTU could not be told.
    ///
    /// Run it again, or give a length (`-l`).
    PathMtuUnknown,
    /// Larger packets vanish, and no ICMP message says so.
    ///
    /// Let ICMP "packet too big" through, raise the MTU of the link, or clamp the MSS of TCP.
    MtuBlackHole,
    /// At half the rate, 5 % and more of the packets are lost, where a TCP throughput means little.
    ///
    /// Look for errors of a line: duplex, optics, radio, a full queue of another's traffic.
    LossTooHighForTcp,
    /// Frames are lost at any rate, and no more than those.
    ///
    /// Look for errors of a line: duplex, optics, radio, a full queue of another's traffic.
    RandomLoss,
    /// Of a flow that was sent nothing arrived.
    ///
    /// Look for a firewall or a policer that drops this class, port or length.
    NothingArrived,
    /// Packets arrived in another class than they were sent in.
    ///
    /// Correct the trust or the marking at the edge.
    DscpChanged,
    /// Packets arrived with wrong checksums.
    ///
    /// Look for a device that alters packets.
    BadChecksums,
    /// Frames of one flow overtook each other.
    ///
    /// Look for a balancing of links frame by frame.
    OutOfOrder,
    // TCP throughput.
    /// Each direction carried what was asked.
    ///
    /// Nothing: hand over the certificate.
    ThroughputMet,
    /// Nothing arrived in the steady time of a trial.
    ///
    /// See whether a firewall lets the connections through and then drops them.
    ThroughputNone,
    /// Less was carried than asked, and segments were sent again.
    ///
    /// If the limit is a policer, ask for the CBS in the text, shape before it, or pace the sender (`--pacing`).
    ThroughputLowRetransmissions,
    /// Less was carried than asked, and the round trip grew beyond what the windows make it.
    ///
    /// Look for a queue elsewhere than at the bottleneck.
    ThroughputLowDelay,
    /// Less was carried than asked, without loss and without delay.
    ///
    /// Look at the hosts and at middleboxes.
    ThroughputLowUnexplained,
    /// What limits the path has a lower rate than was sold.
    ///
    /// Correct the rate of the line, shaper or policer.
    BottleneckBelowSold,
    /// The rate of the bottleneck is not known well enough to judge by.
    ///
    /// Give what was sold (`--cir`).
    BottleneckUncertain,
    /// The rate of what limits the path could not be told.
    ///
    /// Run it again, or give what was sold (`--cir`).
    BottleneckUnknown,
    /// The tester could not send enough to reach the limit of the path.
    ///
    /// Give what was sold (`--cir`), or take faster hosts.
    BottleneckNotReached,
    /// The windows carry no more than what would have to be decided about.
    ///
    /// Give larger ones (`--window`).
    WindowsTooSmall,
    /// What was carried is not known well enough to judge by.
    ///
    /// Test for as long as the text says (`--duration`).
    TrialTooShort,
    /// More was carried than the bottleneck that was measured allows.
    ///
    /// Run it again, or give what was sold (`--cir`).
    ThroughputBeyondIdeal,
    /// A larger part of the bytes was sent again than was asked.
    ///
    /// As for `throughput_low_retransmissions`.
    EfficiencyLow,
    /// The round trip grew under load by more than was asked.
    ///
    /// Shorten the queue at the bottleneck, or give it an AQM such as CoDel.
    BufferDelayHigh,
    /// A smaller window carried less than it allows, which is not judged.
    ///
    /// See whether the trials of full windows lose segments.
    WalkShort,
    /// Large windows raise the round trip far above the baseline.
    ///
    /// Shorten the queue at the bottleneck, or give it an AQM such as CoDel.
    DeepQueue,
    // Bursts and policers.
    /// Bursts of the CBS pass at the CIR, and larger ones are cut to them.
    ///
    /// Nothing: hand over the certificate.
    PolicerAsConfigured,
    /// Bursts did not leave as planned, or the tester lost frames of them.
    ///
    /// As for `frames_unsent`.
    TrialNotAsPlanned,
    /// Frames of a burst that the CBS allows were lost.
    ///
    /// Correct the CBS, or a queue that is too short for it.
    BurstLost,
    /// What exceeds the CIR is not dropped.
    ///
    /// Set the policer up, or expect a shaper or a line in its place.
    NoPolicer,
    /// What limits the path is neither a single bucket nor a single queue.
    ///
    /// Run it again while nobody else uses the path.
    LimitUnknown,
    /// What passed of two loads is what neither a policer nor a queue does.
    ///
    /// Run it again while nobody else uses the path.
    LimitContradictory,
    /// The interval of the CIR lies on both sides of the tolerance.
    ///
    /// Run it again with more bursts, or judge by a wider tolerance.
    CirInconclusive,
    /// The CIR is another than was sold.
    ///
    /// Correct it at the policer; compare the layers that the two rates count.
    CirOutsideTolerance,
    /// The interval of the CBS lies on both sides of the tolerance.
    ///
    /// Run it again with more bursts, or judge by a wider tolerance.
    CbsInconclusive,
    /// The CBS is another than was sold.
    ///
    /// Correct it at the policer.
    CbsOutsideTolerance,
    /// All of a burst larger than the CBS passed at once.
    ///
    /// Correct the CBS, or set the policer up.
    BurstNotPoliced,
    /// No policer dropped anything of an overload at line rate.
    ///
    /// Nothing.
    NoPolicerFound,
    /// The path has a policer, and the text has its CIR and CBS.
    ///
    /// Nothing.
    PolicerFound,
    /// The path has a shaper or a slow line, in which what exceeds its rate waits.
    ///
    /// Nothing.
    ShaperFound,
    // Traffic.
    /// Less payload arrived than was asked.
    ///
    /// See what else the run says of the path: its loss, its MTU, its outages.
    RateLow,
    /// More packets were lost than was allowed.
    ///
    /// Look for a policer, a short queue or an error of a line.
    LossHigh,
    /// More arrived than the line that was given carries.
    ///
    /// Correct the rate of the line (`--line-rate`); else the tester is wrong.
    AboveLine,
    /// The time was over before all bytes had arrived.
    ///
    /// Give more time (`-t`).
    TransferUnfinished,
    /// A sender ran another congestion control than was asked.
    ///
    /// Ask for one that its host has, or allow it there.
    OtherCongestionControl,
    /// Packets of a flow are longer than the path takes.
    ///
    /// Make them shorter (`-l`).
    TooLong,
    /// The path followed the rate profile.
    ///
    /// Nothing.
    ProfileFollowed,
    /// The window kept TCP from following the profile.
    ///
    /// Give a larger window (`-w`).
    ProfileWindowLimited,
    /// A rate limiter dropped what exceeded its rate.
    ///
    /// Correct the policer, or ask for less.
    ProfileRateLimited,
    /// A line, a shaper or a host carried no more, and dropped hardly anything.
    ///
    /// Ask for less, or correct the rate of the line.
    ProfileLineLimited,
    /// The sender could not send what was due.
    ///
    /// Ask for less, or take a faster host.
    ProfileTesterLimited,
    /// The path did not follow the profile, and the figures do not tell why.
    ///
    /// Run it again with a lower rate.
    ProfileNotFollowed,
    /// How much payload each class got.
    ///
    /// Compare it with what the classes were sold with.
    ClassOrder,
    /// A class got less than a tenth of its part.
    ///
    /// Correct the queue of that class at the bottleneck.
    ClassStarved,
    // Benchmarks of RFC 2544.
    /// The throughput is lower than was asked.
    ///
    /// See whether a policer, a queue or a device that forwards slowly limits it.
    ThroughputLow,
    /// The throughput that was asked lies between a rate that passed and one that did not.
    ///
    /// Test for longer (`--trial`).
    ThroughputOpen,
    /// The tester could send or receive no more.
    ///
    /// Take faster hosts, or give the ends `CAP_NET_RAW`.
    TesterLimit,
    /// Frames are lost at any rate.
    ///
    /// Look for errors of a line, or say how much loss is accepted (`--accept-loss`).
    NoRatePassed,
    /// Frames of this length do not fit the path.
    ///
    /// Choose others (`--frames`).
    FrameTooLong,
    /// Bursts as long as the longest that was tried came through.
    ///
    /// Try longer ones (`--burst-max`).
    BurstLimit,
    /// The mean latency is longer than was asked.
    ///
    /// Look for a queue that fills at this rate.
    LatencyHigh,
    /// Bursts that pass without loss are shorter than was asked.
    ///
    /// Make the queue of the device longer.
    BurstShort,
    /// Loss went on after an overload for longer than was asked.
    ///
    /// Make the queue of the device shorter.
    RecoveryLong,
    // Service activation.
    /// All services met their criteria in every step.
    ///
    /// Nothing: hand over the certificate.
    ServicesMet,
    /// Some services missed a criterion, and the text names them.
    ///
    /// Read the reasons of these services.
    ServicesFailed,
    /// The tester disturbed a step, which says nothing.
    ///
    /// As for `tester_stall`.
    StepInvalid,
    /// Less came through than the information rate that was sold.
    ///
    /// Correct the rate of the service, or that of a line before it.
    IrLow,
    /// More came through than the policer of the service would let pass.
    ///
    /// Set the policer up, or correct its rates.
    IrHigh,
    /// A larger part of the frames was lost than was accepted.
    ///
    /// Look for a policer, a short queue or an error of a line.
    FlrExceeded,
    /// The mean frame transfer delay is longer than was accepted.
    ///
    /// Look for a longer route, or for a queue that fills.
    FtdExceeded,
    /// The frame transfer delay varied by more than was accepted.
    ///
    /// Look for a queue that others' traffic fills.
    FdvExceeded,
    /// The service was available for less of the time than was accepted.
    ///
    /// Look at the path at the times of the outages.
    AvailabilityLow,
    /// Frames arrived in another class than the service is to have.
    ///
    /// Correct the trust or the marking at the edge.
    DscpRemarked,
    /// Too few frames were sent to show so low a frame loss ratio.
    ///
    /// Test for longer.
    FlrNotShown,
    /// The two clocks are not known well enough to judge the delay.
    ///
    /// Give both ends one source of time (PTP, NTP).
    FtdVague,
    /// The receiver cannot see the class in which frames arrive.
    ///
    /// Give that end `CAP_NET_RAW`.
    DscpUnknown,
    // Traffic management of RFC 7640.
    /// A test found what was configured.
    ///
    /// Nothing.
    AsConfigured,
    /// Frames of bursts that CBS and EBS allow were lost.
    ///
    /// Correct CBS and EBS, or a queue that is too short for them.
    CompliantBurstLost,
    /// Bursts larger than CBS and EBS allow came through whole.
    ///
    /// Correct CBS and EBS.
    ExcessBurstPassed,
    /// CIR, or CIR and EIR together, are others than were configured.
    ///
    /// Correct them; compare the layers that the rates count.
    PolicerRateWrong,
    /// Frames of bursts that the queue is to hold were lost.
    ///
    /// Make the queue longer.
    QueueTooShort,
    /// Frames of the class that is served first were lost.
    ///
    /// Correct the scheduler, or the queue of that class.
    FirstClassLost,
    /// A class got another share of what left than its weight gives it.
    ///
    /// Correct the weights of the scheduler.
    ShareWrong,
    /// Frames of bursts that the shaper is to hold were lost.
    ///
    /// Make its queue longer.
    ShaperLost,
    /// Bursts came out as they went in.
    ///
    /// Set the shaper up.
    NotShaped,
    /// The shaper has another rate than was configured.
    ///
    /// Correct it; compare the layers that the rates count.
    ShaperRateWrong,
    /// More left the shaper at once than Bc and Be allow.
    ///
    /// Correct Bc and Be.
    ShaperBurstLarge,
    // Very many connections.
    /// Fewer connections were open at once than was asked.
    ///
    /// See what the text of the limit says, or give the ramp more time.
    TargetMissed,
    /// Beyond a number of connections, others were not answered, refused, reset or silent.
    ///
    /// Enlarge the table of connections of the device that the text points to.
    LimitFound,
    /// The number of connections did not stay at what was reached.
    ///
    /// Look at the timeouts of idle connections on the path.
    NotHeld,
    /// More connections failed than was allowed, and the text has their causes.
    ///
    /// Look at the device that refuses, resets or does not answer.
    ConnectionsFailed,
    /// Connections were established and carried nothing.
    ///
    /// Look for a device that answers in place of the server.
    NotTransferred,
    /// Fewer connections were set up in a second than was asked.
    ///
    /// Look at the rate of new connections that a device on the path allows.
    SetupRateLow,
    /// One of 100 handshakes took longer than was asked.
    ///
    /// Look for a device that is busy with new connections.
    HandshakeSlow,
    /// When the first connection failed, and how many were open then.
    ///
    /// Compare it with the tables of the devices on the path.
    FirstFailure,
}

impl Code {
    /// All of them, those of one subject after another.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Its name in documents.
    pub const fn word(self) -> &'static str {
        self.into_str()
    }

    /// What it says, and what its reader can do.
    pub fn about(self) -> [&'static str; 2] {
        let text = self.get_documentation().unwrap_or_default();
        let (says, remedy) = text.split_once("\n\n").unwrap_or((text, ""));
        [says, remedy].map(str::trim_end)
    }

    /// Whether it names a property of the path which the path's owner should know although nothing asked for was
    /// missed. Other reasons explain a verdict, or say what the tester or its user can do.
    pub const fn is_finding(self) -> bool {
        matches!(
            self,
            Self::TrialRepeated
                | Self::ContactLost
                | Self::Outage
                | Self::FarEndShared
                | Self::MtuBlackHole
                | Self::LossTooHighForTcp
                | Self::RandomLoss
                | Self::NothingArrived
                | Self::DscpChanged
                | Self::BadChecksums
                | Self::WalkShort
                | Self::DeepQueue
                | Self::NoRatePassed
        )
    }

    /// Whether it is a self-check: whether the network was measured, or the tester.
    pub const fn is_check(self) -> bool {
        matches!(
            self,
            Self::FarEndShared
                | Self::CountsConserved
                | Self::CriteriaNotMeasured
                | Self::TesterDrops
                | Self::FramesUnsent
                | Self::TesterStall
                | Self::BusiestThread
                | Self::BaselineRttIsLowest
                | Self::EmulationLateness
                | Self::TrialsNotAsPlanned
                | Self::TrialsSpoiltByTester
                | Self::SpoiltTrials
                | Self::StepsSpoiltByTester
                | Self::ConnectionsUnasked
                | Self::CorruptPayload
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_says_what_it_is_and_what_to_do() {
        for code in Code::all() {
            let is_said = |text: &str| text.ends_with('.') && !text.contains('\n');
            assert!(code.about().into_iter().all(is_said), "{code:?}: {:?}", code.about());
        }
        assert_eq!(Code::NoPacketSockets.word(), "no_packet_sockets");
    }
}
