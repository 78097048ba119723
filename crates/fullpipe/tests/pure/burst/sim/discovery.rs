//! Unknown paths, simulated: what discovery makes of policers, shapers and lines.

use std::time::Duration;

use fp_method::Bounds;
use fp_method::burst::{self, Discovered, Discovery, Goal, Plan, Report, SecondBucket, Step, Ways};
use fp_model::{Dscp, Family, Layer, Rate, Recorder, Timing};
use fp_net::path::{
    Charge, CrossPattern, CrossSpec, FrameOrder, GilbertElliott, JitterDistribution, JitterSpec,
    LinkSpec, LossSpec, PathSpec, PoliceSpec, Probability, QueueLimit, QueueSpec, ReorderSpec,
    ShapeSpec,
};
use fp_net::sim::SimTestbed;
use proptest::prelude::*;

use super::bucket::{path, port};

/// Ways of counting a frame, and what each adds to its bytes from destination address to FCS.
const CHARGES: [(Charge, (Layer, i32)); 4] = [
    (Charge::L1, (Layer::L1, 20)),
    (Charge::L2, (Layer::L2, 0)),
    (Charge::L2WithoutFcs, (Layer::L2, -4)),
    (Charge::L3, (Layer::L3, -18)),
];

fn discover(path: &PathSpec) -> Discovery {
    discover_in(path).0
}

/// The same, and how long all trials took together.
fn discover_in(path: &PathSpec) -> (Discovery, f64) {
    let (report, took_s) = report_on(path);
    (found(report), took_s)
}

fn report_on(path: &PathSpec) -> (Report, f64) {
    report_of(path, 1)
}

fn report_of(path: &PathSpec, seed: u64) -> (Report, f64) {
    let plan = Plan { ways: Ways::Upload, ..Plan::new(Family::Ipv4, 1500, Goal::Discover) };
    let mut recorder = Recorder::new(SimTestbed::new(path, seed));
    let (report, end) = burst::run(&plan, &mut recorder);
    end.unwrap();
    let (_, evidence) = recorder.into_parts();
    let lasts = |timing: &Timing| timing.warm_up + timing.steady + timing.settle;
    let all: Duration = evidence.iter().map(|trial| lasts(&trial.trial.timing)).sum();
    (report, all.as_secs_f64())
}

fn found(report: Report) -> Discovery {
    let step = report.steps.into_iter().find_map(|step| match step {
        Step::Discovery(step) => Some(step),
        _ => None,
    });
    step.unwrap()
}

/// The verdict in one text.
fn said(report: &Report) -> String {
    let texts = report.verdict.reasons.iter().map(|reason| reason.text.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn shaped(rate: Rate, burst_bytes: u64, queue_bytes: u64) -> PathSpec {
    let queue = QueueSpec { limit: QueueLimit::Bytes(queue_bytes), ..QueueSpec::default() };
    path(LinkSpec { shape: Some(ShapeSpec { rate, burst_bytes, queue }), ..port(Rate::mbps(1000)) })
}

/// Ten seconds, or what the model needs, if that is more.
///
/// Without regard to the rate: 1.4 s for reachability and the path MTU, 0.8 s for the line, 2.4 s for
/// six steps of the ramp, 1.1 s for a train, 2.1 s for a quiet trial, 0.4 s for each of two bursts.
/// In times of a frame at the rate: 240 for two first looks, 230 for the train behind them, 100 for the
/// refills that give the rate to a percent, 70 for the pause before short frames, which fills a bucket
/// of 60 frames at most. A bucket of which only a lower bound is known is met full after a pause that
/// doubles: the last pause is less than twice 1.05 fill times, and all of them twice the last. The train at
/// another rate comes twice at most, after the last pause or a second and then twice that, and takes 1.8 fill
/// times to empty the bucket.
fn path_time_at_most(cir: Rate, cbs_bytes: u64) -> f64 {
    let frame_s = 8.0 * 1518.0 / cir.as_bps() as f64;
    let fills_s = 8.0 * cbs_bytes as f64 / cir.as_bps() as f64;
    let fixed_s = 1.4 + 0.8 + 2.4 + 1.1 + 2.1 + 4.0 * 0.4;
    let last_pause_s = 1_f64.max(2.1 * fills_s);
    let another_s = 3.0 * last_pause_s + 2.0 * 1.8 * fills_s;
    let frames = f64::from(240 + 230 + 100 + 70);
    10_f64.max(fixed_s + frames * frame_s + 4.2 * fills_s + another_s)
}

fn off_percent(found: f64, truth: f64) -> f64 {
    100.0 * (found / truth - 1.0)
}

/// What is found of two buckets is what they are, or both together, with bounds that hold it.
fn found_or_not_excluded([cir, cbs, eir, ebs]: [f64; 4]) -> Result<(), TestCaseError> {
    let found = discover(&of_two([cir, cbs, eir, ebs], 0));
    let Discovered::Policer { cir_bps, cbs_bytes, charge, excess, alone, .. } = &found.found else {
        return Err(TestCaseError::fail(format!("{found:?}")));
    };
    prop_assert!(alone.is_none_or(|alone| cbs <= alone.shown_from_bytes), "{found:?}");
    if charge.layer != Some((Layer::L2, 0)) {
        return Ok(());
    }
    let holds =
        |said: &Bounds, truth: f64| said.at_least <= truth + 1.0 && truth - 1.0 <= said.at_most;
    if let Some(SecondBucket { rate_bps: Some(eir_bps), depth_bytes: Some(ebs_bytes), dscp }) =
        excess
    {
        prop_assert_eq!(*dscp, None);
        prop_assert!(holds(cir_bps, cir) && holds(eir_bps, eir), "{cir} {eir} {found:?}");
        prop_assert!(holds(cbs_bytes, cbs) && holds(ebs_bytes, ebs), "{cbs} {ebs} {found:?}");
    } else {
        prop_assert_eq!(excess, &None);
        prop_assert!(off_percent(cir_bps.estimate, cir + eir).abs() < 2.0, "{found:?}");
        prop_assert!(holds(cbs_bytes, cbs + ebs), "{} {found:?}", cbs + ebs);
    }
    Ok(())
}

proptest! {
    // A network takes three seconds without optimisation.
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    /// An excess bucket that marks nothing: it is told from the other one where that is certain, and else
    /// what is found is both together, and never a bucket that is not there.
    #[test]
    fn two_buckets_without_marks_are_found_or_not_excluded(
        both in 4e6_f64.ln()..200e6_f64.ln(), excess_share in 0.05..0.95,
        fills_s in [0.004_f64.ln()..0.25_f64.ln(), 0.004_f64.ln()..0.25_f64.ln()],
    ) {
        let [eir, cir] = [excess_share, 1.0 - excess_share].map(|share| both.exp() * share);
        let [cbs, ebs] = [cir * fills_s[0].exp() / 8.0, eir * fills_s[1].exp() / 8.0];
        prop_assume!(cbs >= 6_000.0 && ebs >= 6_000.0 && cbs + ebs < 1e6);
        found_or_not_excluded([cir, cbs, eir, ebs])?;
    }
}

/// An EIR of 91.4 % of both rates explains all trains, as does one of 95 %, and none between. The first is true.
#[test]
fn of_buckets_that_fill_in_nearly_the_same_time_no_pair_is_excluded() {
    found_or_not_excluded([6_699_104.2, 57_702.5, 70_940_065.7, 780_056.3]).unwrap();
}

/// Asserts that a policer on a line of 1 Gbit/s is found, its rate to 0.5 %, its depth to 3 %, in the time that it may
/// take.
fn is_found(
    cir: Rate,
    cbs_bytes: u64,
    (charge, (layer, offset_bytes)): (Charge, (Layer, i32)),
    vlan_tags: u8,
) -> Result<(), TestCaseError> {
    // What counts packets does not count what tags them.
    let tags_bytes = if layer == Layer::L3 { 0 } else { 4 * i32::from(vlan_tags) };
    let police = PoliceSpec { charge, ..PoliceSpec::single_bucket(cir, cbs_bytes) };
    let link = LinkSpec { police: Some(police), vlan_tags, ..port(Rate::mbps(1000)) };
    let (found, took_s) = discover_in(&path(link));
    let Discovered::Policer { cir_bps, cbs_bytes: cbs, charge, excess, .. } = &found.found else {
        return Err(TestCaseError::fail(format!("{found:?}")));
    };
    prop_assert_eq!(excess, &None);
    let offset_bytes = offset_bytes + tags_bytes;
    prop_assert!((charge.offset_bytes.estimate - f64::from(offset_bytes)).abs() < 2.0, "{found:?}");
    // Frames without FCS and a tag are charged what frames are.
    prop_assert_eq!(charge.layer.map(|(_, bytes)| bytes), Some(offset_bytes), "{:?}", found);
    prop_assert!(off_percent(cir_bps.estimate, cir.as_bps() as f64).abs() < 0.5, "{found:?}");
    prop_assert!(off_percent(cbs.estimate, cbs_bytes as f64).abs() < 3.0, "{found:?}");
    prop_assert!(took_s < path_time_at_most(cir, cbs_bytes), "{took_s} {found:?}");
    Ok(())
}

/// Its depth is uncertain by the times at which frames left, and no other pause between trains reduces that.
#[test]
fn a_small_bucket_on_a_fast_line_is_found_in_time() {
    is_found(Rate::mbps(443), 8000, (Charge::L1, (Layer::L1, 20)), 1).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_policer_is_found(
        cbs in 8_000_f64.ln()..1_000_000_f64.ln(), cir in 1e6_f64.ln()..500e6_f64.ln(),
        charge in prop::sample::select(CHARGES.to_vec()), vlan_tags in 0..3_u8,
    ) {
        is_found(Rate::bps(cir.exp() as u64), cbs.exp() as u64, charge, vlan_tags)?;
    }

    /// A queue of at least 3 ms; what waits for less than one is taken for a bucket.
    #[test]
    fn any_shaper_is_told_from_a_policer(
        rate in 2e6_f64.ln()..700e6_f64.ln(), burst_bytes in 1_600_f64.ln()..200_000_f64.ln(),
        queue_s in 0.003_f64.ln()..1_f64.ln(),
    ) {
        let (rate, burst_bytes) = (rate.exp(), burst_bytes.exp() as u64);
        let queue_bytes = (rate * queue_s.exp() / 8.0) as u64 + 10_000;
        let found = discover(&shaped(Rate::bps(rate as u64), burst_bytes, queue_bytes));
        let Discovered::Shaper { rate_bps, bucket_bytes, charge, carried_bytes, .. } = &found.found
        else {
            return Err(TestCaseError::fail(format!("{found:?}")));
        };
        prop_assert_eq!(charge.layer, Some((Layer::L2, 0)), "{:?}", found);
        let held = (burst_bytes + queue_bytes) as f64;
        let carried = 0.3 * rate / 8.0..rate * found.sending.as_secs_f64() / 8.0 + held;
        prop_assert!(carried.contains(&(*carried_bytes as f64)), "{carried:?} {found:?}");
        prop_assert!(off_percent(rate_bps.estimate, rate).abs() < 0.02, "{found:?}");
        prop_assert!(off_percent(bucket_bytes.estimate, burst_bytes as f64).abs() < 1.0, "{found:?}");
        let Bounds { at_least, at_most, .. } = *bucket_bytes;
        prop_assert!((at_least..=at_most).contains(&(burst_bytes as f64)), "{found:?}");
    }
}

/// 122 frames out of the bucket and, at three milliseconds each, few of those behind them.
#[test]
fn a_slow_shaper_with_a_deep_bucket_is_measured_by_what_comes_behind_it() {
    for (rate, burst_bytes, queue_bytes) in [
        (4_062_485, 185_471, 517_810),
        // The queue overflows before the burst ends that looks at the line.
        (6_085_642, 196_243, 48_797),
        (1_999_999, 175_741, 11_673),
        // A second after a train has ended frames of it still come out of the queue.
        (4_709_260, 174_004, 598_657),
        (1_999_999, 192_783, 259_999),
    ] {
        let found = discover(&shaped(Rate::bps(rate), burst_bytes, queue_bytes));
        let Discovered::Shaper { rate_bps, bucket_bytes, charge, .. } = &found.found else {
            panic!("{found:?}")
        };
        assert_eq!(charge.layer, Some((Layer::L2, 0)), "{found:?}");
        assert!(off_percent(rate_bps.estimate, rate as f64).abs() < 0.02, "{found:?}");
        assert!(off_percent(bucket_bytes.estimate, burst_bytes as f64).abs() < 1.0, "{found:?}");
    }
}

/// Short frames come out of the line in front hardly faster than the shaper lets them go: what it lets go at once is
/// used up late, and until then they come at the rate of the line.
#[test]
fn a_shaper_behind_a_line_that_is_hardly_faster_for_short_frames_is_charged_as_it_is_or_unknown() {
    for (line, rate, burst_bytes) in [
        (6_470_000, 5_434_000, 12_482),
        (100_000_000, 84_000_000, 40_000),
        (100_000_000, 85_500_000, 120_000),
    ] {
        let mut network = shaped(Rate::bps(rate), burst_bytes, 60_000);
        network.near_to_far[0].line_rate = Some(Rate::bps(line));
        let found = discover(&network);
        let Discovered::Shaper { rate_bps, bucket_bytes, charge, .. } = &found.found else {
            panic!("{line}: {found:?}")
        };
        assert!(charge.layer.is_none_or(|(_, offset)| offset == 0), "{line}: {found:?}");
        assert!(off_percent(rate_bps.estimate, rate as f64).abs() < 0.05, "{line}: {found:?}");
        assert!(
            off_percent(bucket_bytes.estimate, burst_bytes as f64).abs() < 2.0,
            "{line}: {found:?}"
        );
    }
}

/// What is offered faster than the line in front carries would wait there.
#[test]
fn a_shaper_behind_a_line_of_its_own_order_is_told() {
    let (rate, bytes) = (Rate::bps(76_041_000), 272_540);
    let queue = QueueSpec { limit: QueueLimit::Bytes(bytes), ..QueueSpec::default() };
    let shape = Some(ShapeSpec { rate, burst_bytes: bytes, queue });
    let found = discover(&path(LinkSpec { shape, ..port(Rate::mbps(100)) }));
    let Discovered::Shaper { rate_bps, bucket_bytes, charge, .. } = &found.found else {
        panic!("{found:?}")
    };
    assert_eq!(charge.layer, Some((Layer::L2, 0)), "{found:?}");
    assert!(off_percent(rate_bps.estimate, 76_041_000.0).abs() < 0.02, "{found:?}");
    assert!(off_percent(bucket_bytes.estimate, bytes as f64).abs() < 1.0, "{found:?}");
}

/// CIR and CBS, EIR and EBS, of what marks nothing, behind tags that the network adds.
fn of_two([cir, cbs, eir, ebs]: [f64; 4], vlan_tags: u8) -> PathSpec {
    let mut police = PoliceSpec::single_bucket(Rate::bps(cir as u64), cbs as u64);
    (police.profile.eir_l2, police.profile.ebs_bytes) = (Rate::bps(eir as u64), ebs as u64);
    path(LinkSpec { police: Some(police), vlan_tags, ..port(Rate::mbps(1000)) })
}

/// It is not told what two buckets count beside the length of a frame: with four bytes more they let 3 % less pass
/// of frames of 128 bytes, and 0.3 % less of those of 1518.
#[test]
fn two_buckets_behind_a_tag_are_said_in_bytes_of_long_frames() {
    let buckets = [16e6, 160e3, 5.6e6, 41e3];
    let (report, _) = report_on(&of_two(buckets, 1));
    let found = found(report);
    let Discovered::Policer { cir_bps, cbs_bytes, excess: Some(excess), .. } = &found.found else {
        panic!("{found:?}")
    };
    let (eir_bps, ebs_bytes) = (excess.rate_bps.unwrap(), excess.depth_bytes.unwrap());
    let said = [*cir_bps, *cbs_bytes, eir_bps, ebs_bytes];
    for (said, truth) in said.into_iter().zip(buckets) {
        assert!(off_percent(said.estimate, truth).abs() < 1.0, "{truth} {found:?}");
    }
}

/// The first one fills in 50 or in 8 ms, the other one in 25 or in 60.
#[test]
fn two_buckets_without_marks_are_told_apart_by_the_time_in_which_they_fill() {
    for buckets in [[40e6, 250e3, 20e6, 62.5e3], [30e6, 30e3, 50e6, 375e3]] {
        let (report, _) = report_on(&of_two(buckets, 0));
        let said_of_both = said(&report);
        let found = found(report);
        let Discovered::Policer { cir_bps, cbs_bytes, excess: Some(excess), .. } = &found.found
        else {
            panic!("{found:?}")
        };
        let [cir, cbs, eir, ebs] = buckets;
        let SecondBucket { rate_bps: Some(eir_bps), depth_bytes: Some(ebs_bytes), dscp: None } =
            excess
        else {
            panic!("{excess:?}")
        };
        for (said, truth) in [(cir_bps, cir), (cbs_bytes, cbs), (eir_bps, eir), (ebs_bytes, ebs)] {
            assert!(off_percent(said.estimate, truth).abs() < 1.0, "{truth} {found:?}");
            assert!(said.at_least <= truth && truth <= said.at_most, "{truth} {found:?}");
        }
        let named = [("a policer of ", cir), ("a second one of ", eir)];
        for (text, truth_bps) in named.map(|(what, bps)| (said_of_both.split(what).nth(1), bps)) {
            let rate = text.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
            let rate = rate.unwrap_or_else(|| panic!("{said_of_both}"));
            assert!(off_percent(1e6 * rate, truth_bps).abs() < 1.0, "{said_of_both}");
        }
    }
}

#[test]
fn two_buckets_are_told_apart_by_their_marks() {
    let mut police = PoliceSpec::single_bucket(Rate::mbps(30), 50_000);
    police.profile.eir_l2 = Rate::mbps(17);
    police.profile.ebs_bytes = 90_000;
    police.mark_yellow = Dscp::new(12);
    let found = discover(&path(LinkSpec { police: Some(police), ..port(Rate::mbps(1000)) }));
    let Discovered::Policer { cir_bps, cbs_bytes, excess: Some(excess), marked, .. } = found.found
    else {
        panic!("{found:?}")
    };
    assert_eq!(marked, [Dscp::new(12).unwrap()]);
    assert!(off_percent(cir_bps.estimate, 30e6).abs() < 0.5, "{cir_bps:?}");
    assert!(off_percent(cbs_bytes.estimate, 50e3).abs() < 3.0, "{cbs_bytes:?}");
    assert!(off_percent(excess.rate_bps.unwrap().estimate, 17e6).abs() < 0.5, "{excess:?}");
    assert!(off_percent(excess.depth_bytes.unwrap().estimate, 90e3).abs() < 3.0, "{excess:?}");
}

#[test]
fn a_clean_line_and_a_lossy_one_have_no_policer() {
    let clean = discover(&path(port(Rate::mbps(100))));
    assert!(matches!(clean.found, Discovered::NoPolicer { .. }), "{clean:?}");
    assert!(off_percent(clean.line_l1().unwrap().as_bps() as f64, 100e6).abs() < 0.1);
    let Discovered::NoPolicer { loss, .. } = clean.found else { unreachable!() };
    // Some hundred frames without a loss say little about long runs.
    assert!(loss.percent().estimate == 0.0 && loss.share.at_most.is_infinite(), "{loss:?}");
    assert!(loss.frames >= 100.0, "{loss:?}");
    let loss = Some(LossSpec::Random(Probability::new(0.01).unwrap()));
    let lossy = discover(&path(LinkSpec { loss, ..port(Rate::mbps(100)) }));
    let Discovered::NoPolicer { loss, .. } = lossy.found else { panic!("{lossy:?}") };
    let Bounds { estimate, at_least, at_most } = loss.percent();
    assert!((0.5..1.5).contains(&estimate), "{estimate}");
    assert!((at_least..=at_most).contains(&1.0), "{loss:?}");
}

/// Seventeen frames in a row now and then, at any rate, as a radio link loses them: a run of them in a short trial
/// looks like an overload.
#[test]
fn what_is_lost_in_runs_is_no_limit_below_the_line() {
    let [to_bad, to_good, loss_in_good, loss_in_bad] =
        [0.001, 0.06, 0.0, 1.0].map(|share| Probability::new(share).unwrap());
    let chain = GilbertElliott { to_bad, to_good, loss_in_good, loss_in_bad };
    let loss = Some(LossSpec::GilbertElliott(chain));
    let network = path(LinkSpec { loss, ..port(Rate::mbps(200)) });
    for seed in 0..40 {
        let found = found(report_of(&network, seed).0).found;
        let is_honest = match &found {
            Discovered::NoPolicer { .. } => true,
            Discovered::Unknown { rate_bps, .. } => rate_bps.at_most >= 190e6,
            Discovered::Policer { .. } | Discovered::Shaper { .. } => false,
        };
        assert!(is_honest, "{seed}: {found:?}");
    }
}

/// On a line of twice its rate it takes 59,000 frames that it holds, and 55,000 that it wins meanwhile, to empty one
/// of 90 MB.
#[test]
fn a_bucket_that_takes_more_than_100_000_frames_to_empty_is_measured() {
    let (cir, cbs_bytes) = (Rate::mbps(480), 90_000_000);
    let police = Some(PoliceSpec::single_bucket(cir, cbs_bytes));
    let found = discover(&path(LinkSpec { police, ..port(Rate::mbps(1000)) })).found;
    let Discovered::Policer { cir_bps, cbs_bytes: depth, .. } = found else { panic!("{found:?}") };
    for (of, truth) in [(cir_bps, cir.as_bps()), (depth, cbs_bytes)] {
        assert!(off_percent(of.estimate, truth as f64).abs() < 0.1, "{of:?}");
        assert!((of.at_least..=of.at_most).contains(&(truth as f64)), "{of:?}");
    }
}

/// What the line carries beyond the policer's rate empties a bucket slowly: nothing is lost at first, and its
/// rate shows when frames are lost while the queue of the line empties.
#[test]
fn a_policer_in_front_of_a_line_hardly_faster_is_not_denied() {
    for (cir_kbps, cbs_bytes, line_kbps) in [(1_666, 230_239, 1_908), (26_000, 900_000, 30_000)] {
        let police = Some(PoliceSpec::single_bucket(Rate::bps(1000 * cir_kbps), cbs_bytes));
        let mut network = path(LinkSpec { police, ..port(Rate::mbps(1000)) });
        network.near_to_far.push(port(Rate::bps(1000 * line_kbps)));
        let found = discover(&network).found;
        let truth = 1000.0 * cir_kbps as f64;
        let is_honest = match &found {
            Discovered::NoPolicer { sent_bytes, .. } => *sent_bytes <= cbs_bytes,
            Discovered::Policer { cir_bps, .. } => off_percent(cir_bps.estimate, truth).abs() < 1.0,
            Discovered::Unknown { rate_bps, .. } => {
                (rate_bps.at_least..=rate_bps.at_most).contains(&truth)
            }
            Discovered::Shaper { .. } => false,
        };
        assert!(is_honest, "{found:?}");
    }
}

/// A line hardly faster behind a policer drops what its short queue has no room for, as long as the bucket is not
/// empty, and a few frames are held on the way: neither makes that queue a bucket.
#[test]
fn a_short_queue_is_not_taken_for_the_bucket_in_front_of_it() {
    let reorder = ReorderSpec {
        probability: Probability::new(0.000_63).unwrap(),
        hold: Duration::from_millis(12),
    };
    for (cbs_bytes, line_kbps) in [(2_146_000, 40_856), (2_146_000, 40_860), (536_500, 40_856)] {
        let police = PoliceSpec {
            charge: Charge::L3,
            ..PoliceSpec::single_bucket(Rate::bps(37_985_125), cbs_bytes)
        };
        let queue = Some(QueueSpec { limit: QueueLimit::Packets(76), ..QueueSpec::default() });
        let line = LinkSpec { queue, ..port(Rate::bps(1000 * line_kbps)) };
        let mut network = path(port(Rate::mbps(125)));
        let policer =
            LinkSpec { police: Some(police), reorder: Some(reorder), ..LinkSpec::default() };
        network.near_to_far.extend([policer, line]);
        let found = discover(&network).found;
        // Full frames that the policer passes, and those that the line carries, at layer 2.
        let policed_bps = 37_985_125.0 * 1518.0 / 1500.0;
        let line_bps = 1e3 * line_kbps as f64 * 1518.0 / 1538.0;
        let is_honest = match &found {
            Discovered::NoPolicer { sent_bytes, .. } => *sent_bytes <= cbs_bytes,
            Discovered::Policer { cir_bps, cbs_bytes: cbs, charge, .. } => {
                charge.layer == Some((Layer::L3, -18))
                    && off_percent(cir_bps.estimate, 37_985_125.0).abs() < 1.0
                    && (cbs.at_least..=cbs.at_most).contains(&(cbs_bytes as f64))
            }
            Discovered::Unknown { rate_bps, .. } => {
                rate_bps.at_least <= line_bps && policed_bps <= rate_bps.at_most
            }
            Discovered::Shaper { .. } => false,
        };
        assert!(is_honest, "{found:?}");
    }
}

/// Others get as many tokens as they have frames, more than their share where those are short: no bucket
/// explains what comes through.
#[test]
fn a_policer_that_others_share_is_not_taken_for_a_smaller_one() {
    let crossed = |rate, frame_bytes, port_mbps| {
        let dscp = Dscp::BEST_EFFORT;
        let cross = CrossSpec { pattern: CrossPattern::Constant, rate_l2: rate, frame_bytes, dscp };
        let police = Some(PoliceSpec::single_bucket(Rate::mbps(20), 40_000));
        discover(&path(LinkSpec { police, cross: vec![cross], ..port(Rate::mbps(port_mbps)) }))
            .found
    };
    let mut contradicted = 0;
    for (rate, frame_bytes) in [(1, 64), (2, 512), (5, 1518), (1, 1518)] {
        for port_mbps in [100, 1000] {
            let found = crossed(Rate::mbps(rate), frame_bytes, port_mbps);
            let Discovered::Unknown { contradiction, .. } = found else { panic!("{found:?}") };
            if let Some([one, other]) = contradiction {
                let is_of_one_length = one.frame_bytes == other.frame_bytes;
                let excluded = one.passed_bps.at_most < other.passed_bps.at_least;
                assert!(excluded || !is_of_one_length, "{one:?} {other:?}");
                contradicted += 1;
            }
        }
    }
    assert!(contradicted >= 4, "{contradicted} of 8");
}

/// A train shows a queue and the queue's own trains show none, whoever is asked first.
#[test]
fn trains_that_contradict_each_other_end() {
    let bytes = vec![
        807, 103, 63, 15, 596, 6, 15, 11, 32, 0, 27, 361, 0, 6, 23, 47, 36, 8, 1, 46, 33, 2, 0, 42,
        18, 638, 99, 1863, 57, 24, 425, 4, 66, 11, 88, 1, 4, 2, 9, 2, 88, 1, 8, 58, 9, 15, 1123, 0,
        0, 126, 512,
    ];
    let (pattern, dscp) = (CrossPattern::Replayed { bytes }, Dscp::BEST_EFFORT);
    let cross = vec![CrossSpec { pattern, rate_l2: Rate::ZERO, frame_bytes: 512, dscp }];
    let mut police = PoliceSpec::single_bucket(Rate::bps(3_341_000), 4106);
    police.charge = Charge::L3;
    police.profile.eir_l2 = Rate::bps(4_104_000);
    police.profile.ebs_bytes = 475_715;
    police.mark_yellow = Dscp::new(12);
    let back = LinkSpec { delay: Duration::from_nanos(3_981_780), ..port(Rate::mbps(10)) };
    let queue = Some(QueueSpec { limit: QueueLimit::Packets(100_000), ..QueueSpec::default() });
    let delay = Duration::from_nanos(7_968_174);
    let link = LinkSpec { police: Some(police), cross, delay, queue, ..back.clone() };
    let found = discover(&PathSpec { far_to_near: vec![back], ..path(link) });
    assert!(matches!(found.found, Discovered::Unknown { .. }), "{found:?}");
}

/// At half of what passes at most others take more than every tenth frame from it: no link loses as many.
#[test]
fn a_policer_that_others_keep_empty_is_said_to_be_shared() {
    let dscp = Dscp::BEST_EFFORT;
    let (pattern, rate_l2) = (CrossPattern::Constant, Rate::mbps(30));
    let cross = vec![CrossSpec { pattern, rate_l2, frame_bytes: 1518, dscp }];
    let police = Some(PoliceSpec::single_bucket(Rate::mbps(20), 40_000));
    let (report, _) = report_on(&path(LinkSpec { police, cross, ..port(Rate::mbps(100)) }));
    let said = said(&report);
    assert!(said.contains("others' traffic may share it"), "{said}");
    let found = found(report).found;
    let Discovered::Unknown { contradiction: Some([few, many]), .. } = found else {
        panic!("{found:?}")
    };
    assert!(few.offered_bps < many.offered_bps, "{few:?} {many:?}");
    assert!(few.passed_bps.at_most < 0.9 * few.offered_bps, "{few:?}");
}

/// Others who send now and then slow what waits, or speed it up, in the middle of a train, whose last half
/// alone would then begin with frames that a bucket had let go.
#[test]
fn a_line_that_others_share_now_and_then_has_no_bucket() {
    let dscp = Dscp::BEST_EFFORT;
    let millis = [20, 60, 200, 600].map(Duration::from_millis);
    let mut told = 0;
    for (on, off) in millis.into_iter().flat_map(|on| millis.map(|off| (on, off))) {
        let pattern = CrossPattern::OnOff { on, off };
        let cross = vec![CrossSpec { pattern, rate_l2: Rate::mbps(20), frame_bytes: 512, dscp }];
        let found = discover(&path(LinkSpec { cross, ..port(Rate::mbps(200)) })).found;
        if let Discovered::Shaper { bucket_bytes, .. } = &found {
            assert!(bucket_bytes.at_least <= 1538.0, "{on:?} {off:?} {found:?}");
        }
        assert!(!matches!(found, Discovered::Policer { .. }), "{found:?}");
        told += u32::from(!matches!(found, Discovered::Unknown { .. }));
    }
    assert!(told > 0, "nothing is said of any");
}

/// A frame that is doubled in front of a bucket takes tokens twice, and behind it once.
#[test]
fn frames_that_come_twice_make_no_bucket_smaller() {
    let duplicate = Probability::new(0.0015);
    let police = Some(PoliceSpec::single_bucket(Rate::bps(60_087_000), 8581));
    let twice = LinkSpec { duplicate, ..LinkSpec::default() };
    let policed = LinkSpec { police, ..LinkSpec::default() };
    for links in [[twice.clone(), policed.clone()], [policed, twice]] {
        let mut network = path(port(Rate::mbps(100)));
        network.near_to_far.extend(links);
        for seed in 1..=8 {
            let found = found(report_of(&network, seed).0).found;
            let Discovered::Policer { cir_bps, cbs_bytes, excess: None, .. } = &found else {
                panic!("{found:?}")
            };
            assert!(off_percent(cir_bps.estimate, 60_087e3).abs() < 0.05, "{seed}: {found:?}");
            let Bounds { at_least, at_most, .. } = cbs_bytes;
            assert!((0.999 * at_least..=1.001 * at_most).contains(&8581.0), "{seed}: {found:?}");
            assert!(off_percent(cbs_bytes.estimate, 8581.0).abs() < 1.0, "{seed}: {found:?}");
        }
    }
}

/// What a shaper lets go at once is used up by both of a frame that was doubled in front of it.
#[test]
fn a_shaper_that_meets_frames_twice_lets_no_less_go_at_once() {
    let duplicate = Probability::new(0.01);
    let mut network = shaped(Rate::mbps(18), 105_382, 100_000);
    network.near_to_far.insert(0, LinkSpec { duplicate, ..port(Rate::mbps(39)) });
    let mut told = 0;
    for seed in 1..=24 {
        let found = found(report_of(&network, seed).0).found;
        let Discovered::Shaper { rate_bps, bucket_bytes, .. } = &found else {
            assert!(matches!(found, Discovered::Unknown { .. }), "{seed}: {found:?}");
            continue;
        };
        told += 1;
        for (known, truth) in [(rate_bps, 18e6), (bucket_bytes, 105_382.0)] {
            let Bounds { at_least, at_most, .. } = *known;
            assert!((at_least..=at_most).contains(&truth), "{seed}: {found:?}");
        }
    }
    assert!(told > 12, "{told}");
}

/// A few frames overtake others, and those keep their order: they wait for each other the more, the faster they come.
#[test]
fn frames_that_wait_for_late_ones_behind_a_policer_wait_in_no_queue() {
    let distribution = JitterDistribution::Normal(Duration::from_micros(393));
    let jitter = Some(JitterSpec { distribution, order: FrameOrder::Kept });
    let reorder = ReorderSpec {
        probability: Probability::new(0.002).unwrap(),
        hold: Duration::from_micros(900),
    };
    let police = Some(PoliceSpec::single_bucket(Rate::mbps(620), 4_600_000));
    let mut network = path(LinkSpec { police, jitter, ..port(Rate::mbps(10_000)) });
    network.near_to_far.extend([
        LinkSpec { reorder: Some(reorder), ..LinkSpec::default() },
        port(Rate::mbps(1370)),
    ]);
    let mut told = 0;
    for seed in 1..=8 {
        let found = found(report_of(&network, seed).0).found;
        assert!(!matches!(found, Discovered::Shaper { .. }), "{seed}: {found:?}");
        told += u32::from(matches!(found, Discovered::Policer { .. }));
    }
    assert!(told > 4, "{told}");
}
