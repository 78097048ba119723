//! Values of `fullpipe stress`: what each option allows, and the sentence for what it does not.

use std::time::Duration;

use fp_model::{ConnectionsStage, Dscp, parse_dscp, parse_duration, parse_size};

const CONNECTIONS_MAX: u64 = 1 << 30;
const PER_SECOND_MAX: u64 = 100_000_000;
const TIME_MAX: Duration = Duration::from_secs(86_400);
const STAGES_MAX: usize = 100;
const MESSAGE_BYTES_MAX: u64 = 1 << 30;

/// One after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stages(pub(super) Vec<ConnectionsStage>);

pub(super) fn connections(text: &str) -> Result<u32, String> {
    match parse_size(text) {
        Ok(count @ 1..=CONNECTIONS_MAX) => Ok(count as u32),
        Ok(_) | Err(_) => {
            Err(format!("a number of connections from 1 to {CONNECTIONS_MAX}, such as 100k or 24M"))
        }
    }
}

pub(super) fn per_second(text: &str) -> Result<u32, String> {
    match parse_size(text.trim().strip_suffix("/s").unwrap_or(text)) {
        Ok(count @ 1..=PER_SECOND_MAX) => Ok(count as u32),
        Ok(_) | Err(_) => {
            Err(format!("connections in a second are from 1 to {PER_SECOND_MAX}, such as 400k/s"))
        }
    }
}

pub(super) fn time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if time <= TIME_MAX { Ok(time) } else { Err("a time is at most 24 h".into()) }
}

pub(super) fn lifetime(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if (Duration::from_millis(1)..=TIME_MAX).contains(&time) {
        Ok(time)
    } else {
        Err("a connection lives from 1 ms to 24 h".into())
    }
}

pub(super) fn stages(text: &str) -> Result<Stages, String> {
    let stages: Result<Vec<ConnectionsStage>, String> = text.split(',').map(stage).collect();
    let stages = stages?;
    if stages.len() > STAGES_MAX {
        return Err(format!("there are {} stages, and up to {STAGES_MAX} can be", stages.len()));
    }
    Ok(Stages(stages))
}

fn stage(text: &str) -> Result<ConnectionsStage, String> {
    let text = text.trim();
    let wrong = |why: String| format!("'{text}': {why}");
    let (lasts, count) = text.split_once(':').ok_or_else(|| {
        wrong("a stage is a time and the number of connections at its end, such as 30s:100k".into())
    })?;
    let connections = match count.trim() {
        "0" => 0,
        count => connections(count).map_err(wrong)?,
    };
    Ok(ConnectionsStage { lasts: time(lasts.trim()).map_err(wrong)?, connections })
}

pub(super) fn message_bytes(text: &str) -> Result<u32, String> {
    match parse_size(text) {
        Ok(bytes @ 1..=MESSAGE_BYTES_MAX) => Ok(bytes as u32),
        Ok(_) | Err(_) => Err("a request or response has from 1 byte to 1 GiB".into()),
    }
}

pub(super) fn mss(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bytes @ 64..=9000) => Ok(bytes),
        Ok(_) | Err(_) => Err("a segment has from 64 to 9000 bytes".into()),
    }
}

pub(super) fn dscp(text: &str) -> Result<Dscp, String> {
    parse_dscp(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_rates_are_written_as_people_do() {
        assert_eq!((connections("24M"), connections("100k")), (Ok(24_000_000), Ok(100_000)));
        assert_eq!((per_second("400k/s"), per_second("400k")), (Ok(400_000), Ok(400_000)));
        for text in ["0", "2G", "-1", "many", ""] {
            assert!(connections(text).unwrap_err().contains("1 to 1073741824"), "{text}");
            assert!(per_second("0/s").unwrap_err().contains("400k/s"));
        }
    }

    #[test]
    fn stages_are_times_with_the_number_at_their_end() {
        let Stages(found) = stages("30s:100k, 2m:1M, 30s:0").unwrap();
        let found: Vec<_> =
            found.iter().map(|stage| (stage.lasts.as_secs(), stage.connections)).collect();
        assert_eq!(found, [(30, 100_000), (120, 1_000_000), (30, 0)]);
        let refused = |text| stages(text).unwrap_err();
        assert!(refused("30s").contains("'30s'") && refused("30s").contains("30s:100k"));
        assert!(refused("30s:1M,x:5").contains("'x:5'"));
        assert!(refused("30s:2G").contains("1073741824"));
        assert!(refused("25h:1").contains("24 h"));
        assert!(refused(&vec!["1s:1"; 101].join(",")).contains("101 stages"));
    }
}
