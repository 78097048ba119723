//! What connections do, as it is written on the command line: `download:20%@1M,transaction:70%`.

use std::time::Duration;

use fp_model::{Behaviour, ConnectionsShare, Rate};

use crate::values::plain_rate;

/// What each share of the connections does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mix(Vec<Wanted>);

/// A transaction, whose sizes are other options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transaction {
    pub(super) request_bytes: u32,
    pub(super) response_bytes: u32,
    pub(super) think: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    weight: u32,
    kind: Kind,
    rate: Option<Rate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Idle,
    Transaction,
    Download,
    Upload,
    Both,
}

/// Of all shares together.
const WEIGHTS_MAX: u32 = 10_000;

pub(super) fn mix(text: &str) -> Result<Mix, String> {
    let wanted: Result<Vec<Wanted>, String> = text.split(',').map(wanted).collect();
    let wanted = wanted?;
    let weights = wanted.iter().map(|share| share.weight).fold(0, u32::saturating_add);
    if !(1..=WEIGHTS_MAX).contains(&weights) {
        return Err(format!("the shares add up to 1 to {WEIGHTS_MAX}, not {weights}"));
    }
    Ok(Mix(wanted))
}

fn wanted(text: &str) -> Result<Wanted, String> {
    let text = text.trim();
    let wrong = |why: &str| format!("'{text}': {why}");
    let (kind, share) = text
        .split_once(':')
        .ok_or_else(|| wrong("a part of a mix is a kind and its share, such as transaction:70%"))?;
    let kind = match kind.trim() {
        "idle" | "hold" => Kind::Idle,
        "transaction" => Kind::Transaction,
        "download" => Kind::Download,
        "upload" => Kind::Upload,
        "both" => Kind::Both,
        _ => {
            return Err(wrong(
                "what a connection does is one of idle, transaction, download, upload and both",
            ));
        }
    };
    let (share, rate) = match share.split_once('@') {
        Some((share, rate)) => (share, Some(plain_rate(rate.trim()).map_err(|why| wrong(&why))?)),
        None => (share, None),
    };
    if rate.is_some() && matches!(kind, Kind::Idle | Kind::Transaction) {
        return Err(wrong("only download, upload and both have a rate"));
    }
    let weight = share.trim().trim_end_matches('%').parse::<u32>().ok();
    let weight = weight.filter(|weight| (1..=WEIGHTS_MAX).contains(weight));
    let weight = weight.ok_or_else(|| wrong("a share is a whole number such as 20%"))?;
    Ok(Wanted { weight, kind, rate })
}

impl Mix {
    pub(super) fn shares(&self, transaction: &Transaction) -> Vec<ConnectionsShare> {
        let Transaction { request_bytes, response_bytes, think } = *transaction;
        let behaviour = |wanted: &Wanted| match wanted.kind {
            Kind::Idle => Behaviour::Hold,
            Kind::Transaction => Behaviour::Transaction { request_bytes, response_bytes, think },
            Kind::Download => Behaviour::Download { rate: wanted.rate },
            Kind::Upload => Behaviour::Upload { rate: wanted.rate },
            Kind::Both => Behaviour::Both { rate: wanted.rate },
        };
        let share = |wanted: &Wanted| ConnectionsShare {
            weight: wanted.weight,
            behaviour: behaviour(wanted),
        };
        self.0.iter().map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_kinds_and_rates() {
        let transaction =
            Transaction { request_bytes: 1, response_bytes: 2, think: Duration::from_secs(3) };
        let found = mix("download:20%@1M, transaction:70%,idle:10").unwrap().shares(&transaction);
        let share = |weight, behaviour| ConnectionsShare { weight, behaviour };
        let think = transaction.think;
        let asks = Behaviour::Transaction { request_bytes: 1, response_bytes: 2, think };
        assert_eq!(
            found,
            [
                share(20, Behaviour::Download { rate: Some(Rate::mbps(1)) }),
                share(70, asks),
                share(10, Behaviour::Hold),
            ]
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_part_and_what_is_allowed() {
        let refused = |text| mix(text).unwrap_err();
        assert!(refused("download").contains("'download'"));
        assert!(refused("idle:10%,dance:90%").contains("idle, transaction, download"));
        assert!(refused("idle:10%@1M").contains("only download"));
        assert!(refused("upload:5%@0").contains("more than zero"));
        assert!(refused("upload:0%").contains("whole number"));
        assert!(refused("upload:1.5%").contains("whole number"));
        assert!(refused("idle:9000,upload:1001").contains("not 10001"));
        assert!(refused("").contains("kind and its share"));
    }
}
