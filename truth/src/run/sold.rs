//! The policer that the plan of `burst`, `rfc7640` and `y1564` describes: the true one, or another.

use fp_model::Direction;
use fp_net::path::Charge;

use crate::facts::{Bucket, DirectionFacts, Facts, Kind, offset_bytes};
use crate::method::Method;
use crate::network::Network;

/// The policer as the plan describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sold {
    pub(crate) cir_bps: f64,
    pub(crate) cbs_bytes: u64,
    /// The policer is what was sold.
    pub(crate) is_true: bool,
    /// Where it stands: download alone, or both.
    pub(crate) directions: &'static [Direction],
}

const DOWNLOAD: &[Direction] = &[Direction::Download];
const BOTH: &[Direction] = &[Direction::Download, Direction::Upload];

/// The longest fill time of a bucket that the command line accepts.
const FILLS_IN_S: f64 = 30.0;
/// In trials of ten seconds, a bucket of more forgives a rate that is a tenth too high.
const FORGIVES_S: f64 = 0.3;
/// Bursts of whole frames are shorter than the bucket by up to a frame: in fewer, that hides a rate that
/// is a tenth too high.
const LEAST_FRAMES: f64 = 50.0;

impl Sold {
    /// Every third seed gets a CIR that is a tenth too high, the next one a CBS that is half as large
    /// again as the longest burst that the policer lets through (its bucket, and what refills it during
    /// the burst), the third one the truth. No tolerance covers either lie.
    fn of(bucket: &Bucket, frame_bytes: u32, seed: u64) -> Self {
        let is_shallow = 8.0 * bucket.cbs_bytes <= FORGIVES_S * bucket.cir_bps;
        let is_whole = bucket.cbs_bytes >= LEAST_FRAMES * f64::from(frame_bytes);
        let fed_bps = 8.0 * bucket.fed_frames_s * f64::from(frame_bytes);
        let spent = 1.0 - bucket.cir_bps / fed_bps;
        let [cir, cbs] = match seed % 3 {
            0 if is_shallow && is_whole => [1.1, 1.0],
            1 if is_whole && spent > 0.2 => [1.0, 1.5 / spent],
            _ => [1.0, 1.0],
        };
        Self {
            cir_bps: (bucket.cir_bps * cir).round(),
            cbs_bytes: (bucket.cbs_bytes * cbs).round() as u64,
            is_true: cir == 1.0 && cbs == 1.0,
            directions: DOWNLOAD,
        }
    }

    const fn exactly(bucket: &Bucket) -> Self {
        let Bucket { cir_bps, cbs_bytes, .. } = *bucket;
        Self { cir_bps, cbs_bytes: cbs_bytes as u64, is_true: true, directions: DOWNLOAD }
    }
}

/// The plan's policer: that of the download, and of both directions where both are set alike.
pub(super) fn of(method: Method, network: &Network, facts: &Facts) -> Option<Sold> {
    let can_be_said = |bucket: &Bucket| match method {
        // There is no word for frames without their FCS, nor for tags that the network adds.
        Method::Burst => [Charge::L1, Charge::L2, Charge::L3]
            .iter()
            .any(|charge| offset_bytes(*charge) == bucket.offset_bytes),
        _ => bucket.offset_bytes == 0,
    };
    let single = |way: &DirectionFacts| {
        let is_limit = way.kinds == [Kind::Policer];
        way.bucket.filter(|bucket| is_limit && bucket.eir_bps == 0.0 && can_be_said(bucket))
    };
    let way = &facts.download;
    let mut bucket = single(way)?;
    let upload = single(&facts.upload);
    let fed_frames_s = upload.map_or(f64::INFINITY, |upload| upload.fed_frames_s);
    let is_both = upload
        .is_some_and(|upload| Bucket { fed_frames_s: bucket.fed_frames_s, ..upload } == bucket);
    if is_both {
        bucket.fed_frames_s = bucket.fed_frames_s.min(fed_frames_s);
    }
    let sold = if network.methods.is_empty() {
        Sold::of(&bucket, way.frame_bytes, network.seed)
    } else {
        Sold::exactly(&bucket)
    };
    let fed_bps = 8.0 * bucket.fed_frames_s * f64::from(way.frame_bytes);
    // More than the CIR must come, and in the policing step of a service a quarter more.
    let room = if method == Method::Y1564 { 1.4 } else { 1.1 };
    let can_be_tested =
        sold.cbs_bytes as f64 * 8.0 <= FILLS_IN_S * sold.cir_bps && sold.cir_bps * room <= fed_bps;
    let directions = if is_both { BOTH } else { DOWNLOAD };
    can_be_tested.then_some(Sold { directions, ..sold })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 40 Mbit/s and 121,440 bytes, 80 full frames, behind 1 Gbit/s.
    const BUCKET: Bucket = Bucket {
        cir_bps: 40e6,
        cbs_bytes: 121_440.0,
        eir_bps: 0.0,
        ebs_bytes: 0.0,
        least_bytes: 121_440.0,
        offset_bytes: 0,
        is_marked: false,
        fed_frames_s: 81_274.4,
    };

    #[test]
    fn every_third_policer_is_sold_with_too_high_a_rate_or_too_large_a_bucket() {
        let [rate, depth, truth] = [0, 1, 2].map(|seed| Sold::of(&BUCKET, 1518, seed));
        assert_eq!((rate.cir_bps, rate.cbs_bytes, rate.is_true), (44e6, 121_440, false));
        // The line carries 986.996 Mbit/s of frames: 1.5 / (1 - 40 / 986.996) buckets are 1.563358.
        assert_eq!((depth.cbs_bytes, depth.is_true), (189_854, false));
        assert_eq!((truth.cir_bps, truth.cbs_bytes, truth.is_true), (40e6, 121_440, true));
    }

    #[test]
    fn nothing_is_made_up_that_the_policer_would_forgive() {
        let shallow = Bucket { cbs_bytes: 15_180.0, ..BUCKET };
        let deep = Bucket { cbs_bytes: 10e6, ..BUCKET };
        assert!((0..3).all(|seed| Sold::of(&shallow, 1518, seed).is_true));
        assert!(Sold::of(&deep, 1518, 0).is_true);
    }
}
