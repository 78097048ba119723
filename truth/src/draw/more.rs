//! Elements that some networks have beside those of their shape, so that two that limit meet.

use fp_model::Rate;
use fp_net::meter::Coupling;
use fp_net::path::LinkSpec;

use super::{Dice, Frame, Parts};
use crate::facts::TAG_BYTES;

#[derive(Clone, Copy, Debug)]
enum Element {
    Policer,
    Shaper,
    /// VLAN tags, which one of the links adds to every frame.
    Tags,
    /// The CIR's overflow goes to the second bucket, in policers that have two.
    Coupling,
}

/// Adds one element to both directions, or to none.
pub(super) fn add(dice: &mut Dice, frame: &Frame, ways: [(&mut Vec<LinkSpec>, f64); 2]) {
    use Element::{Coupling, Policer, Shaper, Tags};
    let element = dice.one_of(&[Policer, Policer, Shaper, Shaper, Tags, Coupling]);
    let parts = Parts::drawn(dice);
    // Hardly faster than what limits, or much.
    let (faster, is_first, place) = (dice.log(1.01, 10.0), dice.happens(0.5), dice.unit());
    let tags = dice.one_of(&[1, 2]);
    for (links, bps) in ways {
        let at = (place * links.len() as f64) as usize;
        let bps = bps * faster;
        match element {
            Policer => put(links, is_first, frame, |link| {
                link.police = Some(parts.police(frame, bps));
            }),
            Shaper => put(links, is_first, frame, |link| {
                link.shape = Some(parts.shape(frame, bps));
            }),
            Tags => tag(&mut links[at], tags),
            Coupling => couple(links),
        }
    }
}

/// A link that takes no time, behind the sender's own or at the end.
fn put(links: &mut Vec<LinkSpec>, is_first: bool, frame: &Frame, set: impl Fn(&mut LinkSpec)) {
    let mut link = LinkSpec { mtu: frame.interface_mtu(), ..LinkSpec::default() };
    set(&mut link);
    let place = if is_first { 1 } else { links.len() };
    links.insert(place, link);
}

/// A bucket keeps room for the longest frame.
pub(super) fn tag(link: &mut LinkSpec, tags: u8) {
    let bytes = TAG_BYTES as u64 * u64::from(tags);
    link.vlan_tags = tags;
    if let Some(police) = &mut link.police {
        police.profile.cbs_bytes += bytes;
        police.profile.ebs_bytes += if police.profile.eir_l2 > Rate::ZERO { bytes } else { 0 };
    }
    if let Some(shape) = &mut link.shape {
        shape.burst_bytes += bytes;
    }
}

fn couple(links: &mut [LinkSpec]) {
    let policers = links.iter_mut().filter_map(|link| link.police.as_mut());
    for police in policers.filter(|police| police.profile.eir_l2 > Rate::ZERO) {
        police.profile.coupling = Coupling::Coupled;
    }
}
