//! Step 2 of RFC 6349, second part: the bottleneck bandwidth of each direction.

use core::time::Duration;

use fp_model::{Abort, Direction, Layer, LayeredRate, PacketLayout, Rate};

use super::{Bottleneck, LimitKind, Run, Source, Step};
use crate::burst::discovery;
use crate::infer::rate::{Kind, whole};
use crate::infer::search::{Finder, Limits, Precision, Search};

//= rfc6349 3.2.2
/// Finds the bottleneck of one direction, or takes what the plan says it is.
pub(super) fn find(
    run: &mut Run<'_>,
    direction: Direction,
    path_mtu: u32,
    rtt: Duration,
) -> Result<Bottleneck, Abort> {
    let headers = run.plan.family.ip_header_bytes() + PacketLayout::UDP_HEADER_BYTES;
    let packet = PacketLayout::ethernet(path_mtu, path_mtu - headers);
    let bottleneck = match run.plan.cir {
        Some(cir) if !run.plan.measures_beside_cir => given(direction, cir, packet),
        Some(_) | None => measured(run, direction, packet, rtt)?,
    };
    run.report.steps.push(Step::Bottleneck(bottleneck));
    Ok(bottleneck)
}

fn given(direction: Direction, cir: LayeredRate, packet: PacketLayout) -> Bottleneck {
    Bottleneck {
        at_most: Some(cir.rate),
        source: Source::Given,
        ..of_rates(direction, packet, [cir.rate.as_bps() as f64; 3], cir.layer)
    }
}

/// The rate that was sold, on a path whose limit is above all that was offered: nothing drops what
/// exceeds that rate, so windows are those of a line.
fn line_of(direction: Direction, sold: LayeredRate, packet: PacketLayout) -> Bottleneck {
    let layer = Layer::L1;
    given(direction, LayeredRate { rate: packet.convert(sold, layer), layer }, packet)
}

fn measured(
    run: &mut Run<'_>,
    direction: Direction,
    packet: PacketLayout,
    rtt: Duration,
) -> Result<Bottleneck, Abort> {
    let plan = run.plan;
    let at_l2 = |rate: LayeredRate| packet.convert(rate, Layer::L2).as_bps() as f64;
    let sold = plan.sold();
    let search = Search {
        limit_l2: at_l2(plan.rate_limit),
        sold_l2: sold.map(at_l2),
        trial: plan.trial,
        precision: Precision::Result,
        ..Search::of(direction, (plan.family, plan.dscp), packet.frame_bytes, rtt)
    };
    let mut finder = Finder::new(run, search);
    let limits = match (finder.find(), sold) {
        // Nothing shows what the path is: the rate that was sold has to stand for it.
        (Err(_), Some(sold)) if finder.is_blind => return Ok(given(direction, sold, packet)),
        (limits, _) => limits?,
    };
    let (trials, after) = (finder.trials, finder.after(&limits));
    let carried_bytes = (finder.carried * f64::from(packet.frame_bytes)) as u64;
    let shown = discovery::show(run, after, limits, 0.0)?;
    let limit = of_limits(&shown.limits, direction, packet);
    Ok(match sold {
        Some(sold) if !limit.is_known() => line_of(direction, sold, packet),
        Some(_) | None => Bottleneck {
            trials: trials + shown.trials,
            burst_bytes: shown.at_once,
            carried_bytes: matches!(limit.kind, LimitKind::Queue | LimitKind::NotReached)
                .then_some(carried_bytes),
            ..limit
        },
    })
}

fn of_limits(limits: &Limits, direction: Direction, packet: PacketLayout) -> Bottleneck {
    let at = |rates_l2: [f64; 3], kind: LimitKind| {
        let layer = if kind == LimitKind::Policer { Layer::L2 } else { Layer::L1 };
        let at = |bps: f64| {
            if bps == 0.0 || bps.is_infinite() {
                return bps;
            }
            let at_l2 = LayeredRate { rate: whole(libm::round(bps)), layer: Layer::L2 };
            packet.convert(at_l2, layer).as_bps() as f64
        };
        Bottleneck { kind, ..of_rates(direction, packet, rates_l2.map(at), layer) }
    };
    match *limits {
        Limits::NotReached(bps, _) => at([bps, bps, f64::INFINITY], LimitKind::NotReached),
        // What came of trains that emptied a bucket, or filled a queue, is no bound of its rate.
        Limits::Unknown { bps, at_most, .. } => at([bps, 0.0, at_most], LimitKind::Unknown),
        Limits::Found(found, quiet) => Bottleneck {
            overload_delay: Some(found.delay),
            overload_drops: found.drops,
            base_loss: Some(quiet.loss_within()),
            ..at([found.bps, found.at_least, found.at_most], kind_of(found.kind))
        },
    }
}

const fn kind_of(kind: Kind) -> LimitKind {
    match kind {
        Kind::Policer => LimitKind::Policer,
        Kind::Queue => LimitKind::Queue,
        Kind::Unknown => LimitKind::Unknown,
    }
}

/// Of a rate with its interval, at a layer.
fn of_rates(
    direction: Direction,
    packet: PacketLayout,
    [rate, at_least, at_most]: [f64; 3],
    layer: Layer,
) -> Bottleneck {
    Bottleneck {
        direction,
        limit: LayeredRate { rate: whole(rate), layer },
        at_least: Rate::bps(at_least as u64),
        at_most: at_most.is_finite().then(|| whole(at_most)),
        packet,
        source: Source::Measured,
        kind: LimitKind::Unknown,
        trials: 0,
        base_loss: None,
        overload_delay: None,
        overload_drops: false,
        burst_bytes: None,
        carried_bytes: None,
    }
}
