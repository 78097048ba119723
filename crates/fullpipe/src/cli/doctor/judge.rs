//! What follows from what was seen of a machine: what it can measure, and what is to be mended.

use std::time::Duration;

use fp_engine::checkup::{InterfaceFacts, LoopFacts, Processor, WholeBurst, WholeRate};
use fp_model::{Layer, LayeredRate, PacketLayout, Rate, RttSummary};
use fp_net::stream::BURST_LATENESS_MAX;
use fp_report::{duration, rate};

use super::{Facts, Right, RightKind};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Judgement {
    /// What this machine can do, and how finely.
    pub(super) can: Vec<Sentence>,
    /// What it cannot, or does not do well.
    pub(super) findings: Vec<Finding>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) code: &'static str,
    pub(super) text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) code: &'static str,
    pub(super) text: String,
    /// What to do about it.
    pub(super) remedy: String,
}

/// A hundredth of a processor: the share of loss and of time from which on a result is not valid.
const TAKEN_MAX: f64 = 0.01;
/// A wall clock that moves by more was set and not slewed: 3 s at the kernel's 500 ppm are 1.5 ms.
const SLEW_PPM: f64 = 500.0;
/// They take a microsecond and more for each reading, or step by milliseconds.
const SLOW_CLOCKS: [&str; 5] = ["acpi_pm", "hpet", "pit", "jiffies", "refined-jiffies"];
/// Interfaces behind which nobody cuts what is still to be cut.
const VIRTUAL_DRIVERS: [&str; 4] = ["veth", "tun", "bridge", "virtio_net"];
/// Beside data connections a test has a control connection, files and wake-ups.
const OTHER_DESCRIPTORS: u64 = 64;

impl Judgement {
    pub(super) fn of(facts: &Facts) -> Self {
        let mut can = Vec::new();
        let mut findings = Vec::new();
        match &facts.own_loop {
            Ok(own_loop) => can.extend(carried(own_loop)),
            Err(why) => findings.push(finding(
                "own_loop",
                format!("this machine cannot be both ends of a test: {why}"),
                "allow programs to listen at 127.0.0.1 and to connect to it",
            )),
        }
        can.extend(connections(facts));
        can.extend(lab(&facts.rights));
        findings.extend(facts.processors.iter().flat_map(processor));
        findings.extend(clock(facts));
        findings.extend(facts.rights.iter().filter_map(right));
        findings.extend(buffer(facts));
        findings.extend(facts.interfaces.iter().flat_map(interface));
        Self { can, findings }
    }

    pub(super) const fn status(&self) -> &'static str {
        if self.findings.is_empty() { "pass" } else { "findings" }
    }
}

fn carried(own_loop: &LoopFacts) -> Vec<Sentence> {
    let LoopFacts { rtt, rates, burst } = own_loop;
    let rates = rates.iter().filter_map(whole_rate);
    let burst = burst.as_ref().map(whole_burst);
    rates.chain(burst).chain(rtt.as_ref().map(latency)).collect()
}

fn whole_rate(whole: &WholeRate) -> Option<Sentence> {
    let WholeRate { frame_bytes, frames_s } = *whole;
    let frames_s = frames_s?;
    let line = LayeredRate { rate: line_rate(frame_bytes, frames_s), layer: Layer::L1 };
    Some(Sentence {
        code: "rate",
        text: format!(
            "rates of up to {} of frames of {frame_bytes} bytes ({} {})",
            per_second(frames_s),
            rate(line.rate),
            line.layer
        ),
    })
}

/// With preamble, start delimiter and gap.
pub(super) fn line_rate(frame_bytes: u32, frames_s: f64) -> Rate {
    Rate::bps((frames_s * 8.0 * f64::from(frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD)) as u64)
}

fn per_second(frames_s: f64) -> String {
    match frames_s {
        frames_s if frames_s >= 1e6 => format!("{:.2} Mpps", frames_s / 1e6),
        frames_s => format!("{:.1} kpps", frames_s / 1e3),
    }
}

fn whole_burst(burst: &WholeBurst) -> Sentence {
    let WholeBurst { frame_bytes, frames, rate_l1_bps } = *burst;
    let kilobytes = f64::from(frames) * f64::from(frame_bytes) / 1e3;
    let at = rate(Rate::bps(rate_l1_bps as u64));
    Sentence {
        code: "burst",
        text: format!(
            "bursts of {frames} frames of {frame_bytes} bytes ({kilobytes:.0} kB) and less, at {at} l1"
        ),
    }
}

fn latency(rtt: &RttSummary) -> Sentence {
    Sentence {
        code: "latency",
        text: format!(
            "latency no finer than {}: so long takes a round trip from this machine to itself in up \
             to 99 of 100 cases, and {} at least",
            duration(rtt.p99),
            duration(rtt.min)
        ),
    }
}

fn connections(facts: &Facts) -> Option<Sentence> {
    let most = facts.limits.descriptors?.saturating_sub(OTHER_DESCRIPTORS);
    let text = format!("{most} TCP connections of the kernel at once, by the limit of descriptors");
    Some(Sentence { code: "connections", text })
}

fn lab(rights: &[Right]) -> Option<Sentence> {
    let is_granted = |right: &Right| right.kind == RightKind::Lab && right.refused.is_none();
    let text = "emulated networks on this machine (--lab)".to_owned();
    rights.iter().any(is_granted).then_some(Sentence { code: "lab", text })
}

fn finding(code: &'static str, text: String, remedy: impl Into<String>) -> Finding {
    Finding { code, text, remedy: remedy.into() }
}

fn processor(processor: &Processor) -> Vec<Finding> {
    let Processor { number, late_max, taken_share, stolen_share, .. } = processor;
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let stalls = (*late_max > BURST_LATENESS_MAX).then(|| {
        let text = format!(
            "processor {number} kept a thread waiting for {}: trials in which that happens are \
             repeated, or the result is not valid",
            duration(*late_max)
        );
        let remedy = "end what else runs here, or give this machine processors of its own";
        finding("stalls", text, remedy)
    });
    let taken = (*taken_share > TAKEN_MAX).then(|| {
        let share = percent(*taken_share);
        let text = format!("processor {number}: threads wait for it {share} of the time");
        finding("busy", text, "end what else runs here during a test")
    });
    let stolen = stolen_share.filter(|share| *share > TAKEN_MAX).map(|share| {
        let share = percent(share);
        let text =
            format!("processor {number}: the hypervisor gives {share} of it to other machines");
        finding("steal", text, "have the hypervisor reserve processors for this machine")
    });
    [stalls, taken, stolen].into_iter().flatten().collect()
}

fn clock(facts: &Facts) -> Vec<Finding> {
    let source = facts.host.clock_source.as_str();
    let slow = SLOW_CLOCKS.contains(&source).then(|| {
        let text = format!(
            "the clock is {source}: a reading takes {} ns, and times are no finer than {} ns",
            facts.clock.reading.as_nanos(),
            facts.clock.step.as_nanos()
        );
        let remedy = "choose tsc, kvm-clock or the like in \
                      /sys/devices/system/clocksource/clocksource0/current_clocksource";
        finding("slow_clock", text, remedy)
    });
    let slewed = facts.watched.mul_f64(SLEW_PPM / 1e6).max(Duration::from_millis(1));
    let moved = facts.clock.wall_moved;
    let set = (moved > slewed).then(|| {
        let text = format!(
            "the wall clock was set by {} within {}: dates of results are uncertain",
            duration(moved),
            duration(facts.watched)
        );
        finding("wall_clock", text, "have it slewed by one time service alone")
    });
    slow.into_iter().chain(set).collect()
}

fn right(right: &Right) -> Option<Finding> {
    let why = right.refused.as_ref()?;
    let (text, remedy) = match right.kind {
        RightKind::PacketSockets => (
            "no packet sockets: frames arrive through UDP sockets, which drop more at high rates",
            "run it as root, or once `sudo setcap cap_net_raw,cap_sys_nice+ep` of this program",
        ),
        RightKind::XdpSockets => (
            "no AF_XDP: very many connections go through slower packet sockets",
            "run it as root on a kernel with CONFIG_XDP_SOCKETS",
        ),
        RightKind::RealTime => (
            "no real-time priority: frames leave late when something else runs here",
            "run it as root, or once `sudo setcap cap_net_raw,cap_sys_nice+ep` of this program",
        ),
        RightKind::Lab => ("no emulated networks (--lab)", "see the reason, or run it as root"),
    };
    Some(finding(right.kind.name(), format!("{text} ({why})"), remedy))
}

fn buffer(facts: &Facts) -> Option<Finding> {
    let (granted, asked) = (facts.limits.udp_buffer_bytes?, facts.limits.udp_buffer_asked_bytes);
    (granted < asked).then(|| {
        let text = format!(
            "the kernel grants {granted} of {asked} bytes for arrived frames: long bursts at high \
             rates are lost here, and the run is not valid then"
        );
        // The kernel counts twice what it is asked for.
        let remedy = format!("run `sudo sysctl net.core.rmem_max={}`", asked / 2);
        finding("udp_buffer", text, remedy)
    })
}

fn interface(interface: &InterfaceFacts) -> Vec<Finding> {
    let InterfaceFacts { name, driver, offloads, .. } = interface;
    let has = |offload: &&str| offloads.iter().any(|one| one == offload);
    let is_virtual = VIRTUAL_DRIVERS.contains(&driver.as_str());
    let uncut = (is_virtual && has(&"tx-tcp-segmentation")).then(|| {
        let text = format!(
            "{name} ({driver}) takes TCP segments of up to 64 kB uncut: a policer or shaper of this \
             host or its hypervisor may meet them whole, and drop them whole"
        );
        finding("uncut_segments", text, format!("run `sudo ethtool -K {name} tso off gso off`"))
    });
    let joining: Vec<&str> = ["rx-lro", "rx-gro-hw"].into_iter().filter(has).collect();
    let joined = (!joining.is_empty()).then(|| {
        let text = format!(
            "{name} joins frames before the host sees them ({}): bursts and arrival times blur",
            joining.join(", ")
        );
        let switches: Vec<String> =
            joining.iter().map(|offload| format!("{offload} off")).collect();
        let remedy = format!("run `sudo ethtool -K {name} {}`", switches.join(" "));
        finding("joined_frames", text, remedy)
    });
    uncut.into_iter().chain(joined).collect()
}

#[cfg(test)]
mod tests;
