//! A policer or a shaper of a port, as `--capacity` has it: `dscp=ef,cir=2M,cbs=16K`.

use fp_method::rfc7640::{Device, PolicerPlan, PortClass, ShaperPlan};
use fp_model::{Rate, parse_dscp, parse_size};

use crate::values::plain_rate;

const KEYS: [&str; 10] =
    ["dscp", "cir", "cbs", "eir", "ebs", "shaper", "bc", "be", "queue", "burst"];
const OF_POLICERS: [&str; 4] = ["cir", "cbs", "eir", "ebs"];
const OF_SHAPERS: [&str; 5] = ["shaper", "bc", "be", "queue", "burst"];

pub(super) fn port_class(text: &str) -> Result<PortClass, String> {
    let given = Given::of(text)?;
    let dscp = given.needed("dscp", |text| parse_dscp(text).map_err(|error| error.to_string()))?;
    let device = match (given.value("cir", plain_rate)?, given.value("shaper", plain_rate)?) {
        (Some(cir_l2), None) => {
            given.refuse(&OF_SHAPERS, "of a policer")?;
            Device::Policer(PolicerPlan {
                cir_l2,
                cbs_bytes: given.needed("cbs", size)?,
                eir_l2: given.value("eir", plain_rate)?.unwrap_or(Rate::ZERO),
                ebs_bytes: given.value("ebs", size)?.unwrap_or(0),
            })
        }
        (None, Some(rate_l2)) => {
            given.refuse(&OF_POLICERS, "of a shaper")?;
            let queue_bytes = given.needed("queue", size)?;
            Device::Shaper(ShaperPlan {
                rate_l2,
                bc_bytes: given.needed("bc", size)?,
                be_bytes: given.value("be", size)?.unwrap_or(0),
                queue_bytes,
                burst_bytes: given.value("burst", size)?.unwrap_or(queue_bytes),
            })
        }
        (Some(_), Some(_)) | (None, None) => {
            return Err(
                "a class has a policer, such as dscp=ef,cir=2M,cbs=16K, or a shaper, such as \
                        dscp=af41,shaper=20M,bc=16K,queue=128K"
                    .into(),
            );
        }
    };
    Ok(PortClass { dscp, device })
}

/// Keys with their values, each once.
struct Given<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Given<'a> {
    fn of(text: &'a str) -> Result<Self, String> {
        let mut given = Vec::<(&str, &str)>::new();
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                return Err(format!("'{part}' is no KEY=VALUE such as cir=2M"));
            };
            let (key, value) = (key.trim(), value.trim());
            if !KEYS.contains(&key) {
                return Err(format!("'{key}' is none of {}", KEYS.join(", ")));
            }
            if given.iter().any(|(other, _)| *other == key) {
                return Err(format!("{key} is given twice"));
            }
            given.push((key, value));
        }
        Ok(Self(given))
    }

    /// What is given as `key`, as `parse` reads it.
    fn value<T>(
        &self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let Some((_, text)) = self.0.iter().find(|(other, _)| *other == key) else {
            return Ok(None);
        };
        parse(text).map(Some).map_err(|error| format!("{key}={text}: {error}"))
    }

    fn needed<T>(&self, key: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
        self.value(key, parse)?.ok_or_else(|| format!("{key} is missing"))
    }

    fn refuse(&self, keys: &[&str], here: &str) -> Result<(), String> {
        let is_given = |key: &&&str| self.0.iter().any(|(other, _)| *other == **key);
        match keys.iter().find(is_given) {
            Some(key) => Err(format!("{key} is nothing {here}")),
            None => Ok(()),
        }
    }
}

pub(super) fn size(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text).map_err(|error| error.to_string())?;
    if (64..=1_000_000_000).contains(&bytes) {
        Ok(bytes)
    } else {
        Err("this size is from 64 bytes to 1 GB".into())
    }
}

#[cfg(test)]
mod tests {
    use fp_model::Dscp;

    use super::*;

    #[test]
    fn a_class_is_said_in_keys_and_values() {
        let policer = port_class("dscp=ef,cir=2M,cbs=16K,eir=1M,ebs=8K").unwrap();
        assert_eq!(policer.dscp, Dscp::new(46).unwrap());
        let plan = PolicerPlan {
            cir_l2: Rate::mbps(2),
            cbs_bytes: 16_000,
            eir_l2: Rate::mbps(1),
            ebs_bytes: 8000,
        };
        assert_eq!(policer.device, Device::Policer(plan));
        let shaper = port_class("shaper=20M, bc=16K, queue=128K, dscp=34").unwrap();
        let plan = ShaperPlan {
            rate_l2: Rate::mbps(20),
            bc_bytes: 16_000,
            be_bytes: 0,
            queue_bytes: 128_000,
            burst_bytes: 128_000,
        };
        assert_eq!(shaper.device, Device::Shaper(plan));
    }

    #[test]
    fn what_is_missing_or_too_much_is_named() {
        for (text, said) in [
            ("dscp=ef", "a class has a policer, such as"),
            ("dscp=ef,cir=2M", "cbs is missing"),
            ("cir=2M,cbs=16K", "dscp is missing"),
            ("dscp=ef,cir=2M,cbs=16K,queue=1M", "queue is nothing of a policer"),
            ("dscp=ef,shaper=2M,bc=16K,queue=1M,ebs=1M", "ebs is nothing of a shaper"),
            ("dscp=ef,cri=2M", "'cri' is none of dscp, cir"),
            ("dscp=ef,dscp=be,cir=2M", "dscp is given twice"),
            ("ef", "'ef' is no KEY=VALUE"),
            ("dscp=ef,cir=fast,cbs=16K", "cir=fast: must begin with a decimal number"),
            ("dscp=ef,cir=2M,cbs=16", "cbs=16: this size is from 64 bytes"),
        ] {
            let error = port_class(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
