//! Networks of another kind: each link of each direction has elements of its own, whatever the others have,
//! so that any of them may meet in any order.

use std::time::Duration;

use fp_net::path::LinkSpec;
use fp_net::sim::Severity;

use super::{Dice, Frame, Impairment, Parts, Scale, crossing};
use crate::network::{HostTroubles, Network};

pub(crate) fn network(seed: u64, index: u64) -> Network {
    let mut dice = Dice::new(!seed, index);
    let frame = Frame::drawn(&mut dice);
    let count = 1 + (dice.unit() * 4.0) as usize;
    let rtt_s = dice.log(0.0002, 0.3);
    let mut way = || -> Vec<LinkSpec> {
        let bps = dice.log(5e5, 2e9);
        let delay = Duration::from_secs_f64(rtt_s * dice.between(0.3, 0.7) / count as f64);
        (0..count).map(|place| link(&mut dice, &frame, place == 0, bps, delay)).collect()
    };
    let (mut download, mut upload) = (way(), way());
    frame.limit(&mut dice, [&mut download, &mut upload]);
    let trouble =
        dice.happens(0.05).then(|| HostTroubles { severity: Severity::Mild, seed: dice.next() });
    let (family, seed_of_chance) = (frame.family, dice.next() >> 1);
    let name = format!("links-{seed}-{index}");
    Network { family, seed: seed_of_chance, trouble, ..Network::new(name, download, upload) }
}

fn link(dice: &mut Dice, frame: &Frame, is_first: bool, bps: f64, delay: Duration) -> LinkSpec {
    let parts = Parts::drawn(dice);
    let mut link = match is_first {
        true if dice.happens(0.7) => parts.port(bps),
        _ if is_first || dice.happens(0.4) => parts.line(frame, bps * dice.log(1.0, 30.0)),
        _ => LinkSpec::default(),
    };
    let rate = bps * dice.log(1.0, 10.0);
    link.delay = delay;
    if dice.happens(0.3) {
        let has_two = dice.happens(0.2);
        link.police =
            Some(if has_two { parts.two(frame, rate) } else { parts.police(frame, rate) });
    } else if dice.happens(0.2) {
        link.shape = Some(parts.shape(frame, rate));
    }
    let scale = Scale::drawn(dice);
    for kind in Impairment::some(dice, 0.05) {
        scale.apply(kind, &mut link);
    }
    if dice.happens(0.05) {
        super::more::tag(&mut link, 1);
    }
    if dice.happens(0.03) {
        let frame_bytes = dice.one_of(&[64, 512, 1280]).min(frame.path_mtu + 18);
        link.cross.push(crossing(dice, frame_bytes, bps));
    }
    link
}
