//! Which runs of the history are asked for: `method=rfc6349`, `since=7d`.

use std::time::Duration;

use anyhow::anyhow;
use fp_history::{Filter, LABELS};
use fp_method::methods::{METHODS, Method};
use fp_method::verdict::Status;
use fp_model::{Time, parse_duration};
use time::format_description::well_known::Rfc3339;
use time::{Date, Month, OffsetDateTime, UtcOffset};

use super::super::measure::rfc3339;
use crate::yaml::nearest;

const NAMES: [&str; 10] = [
    "method", "far", "verdict", "since", "until", LABELS[0], LABELS[1], LABELS[2], LABELS[3],
    LABELS[4],
];
const DAY: Duration = Duration::from_secs(86_400);

/// A name with what it has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    name: &'static str,
    text: String,
}

/// Of `name=text`.
///
/// # Errors
/// What is wrong with it and what is allowed.
pub(crate) fn condition(text: &str) -> Result<Condition, String> {
    let (name, text) = text
        .split_once('=')
        .ok_or_else(|| String::from("a condition has a name and a text: far=10.0.0.2"))?;
    let (name, text) = (name.trim(), text.trim());
    let Some(name) = NAMES.iter().find(|known| **known == name) else {
        let suggestion = match nearest(name, &NAMES) {
            Some(nearest) => format!("did you mean '{nearest}'? "),
            None => String::new(),
        };
        return Err(format!("no condition '{name}': {suggestion}there are {}", NAMES.join(", ")));
    };
    let text = match *name {
        // By the command's name, too.
        "method" => Method::of_command(text).map_or(text, |method| method.name),
        _ => text,
    };
    let allowed: Vec<&str> = match *name {
        "method" => METHODS.map(|method| method.name).into(),
        "verdict" => Status::ALL.map(Status::name).into(),
        _ => Vec::new(),
    };
    if text.is_empty() || (!allowed.is_empty() && !allowed.contains(&text)) {
        return Err(match allowed.as_slice() {
            [] => format!("'{name}' needs a text behind the ="),
            allowed => format!("a {name} is one of {}", allowed.join(", ")),
        });
    }
    Ok(Condition { name, text: text.to_owned() })
}

/// What meets all of these, as seen from `now`.
///
/// # Errors
/// Which time is none, which condition is given twice.
pub(super) fn filter(conditions: &[Condition], now: Time) -> anyhow::Result<Filter> {
    let mut filter = Filter::default();
    for Condition { name, text } in conditions {
        let (place, text) = match *name {
            "method" => (&mut filter.method, text.clone()),
            "far" => (&mut filter.far, text.clone()),
            "verdict" => (&mut filter.verdict, text.clone()),
            "since" => (&mut filter.since, instant(text, now)?),
            "until" => (&mut filter.until, instant(text, now)?),
            label => {
                let place = LABELS.iter().position(|known| *known == label);
                // Every other name is a label's: `condition` has seen to it.
                let Some(place) = place else { continue };
                (&mut filter.labels[place], text.clone())
            }
        };
        if place.is_some() {
            return Err(anyhow!("--where has '{name}' twice: a run has one {name}"));
        }
        *place = Some(text);
    }
    Ok(filter)
}

/// A date, an instant, or so long ago; RFC 3339, UTC, in whole seconds.
fn instant(text: &str, now: Time) -> anyhow::Result<String> {
    if let Ok(instant) = OffsetDateTime::parse(text, &Rfc3339) {
        return Ok(instant.to_offset(UtcOffset::UTC).replace_nanosecond(0)?.format(&Rfc3339)?);
    }
    if date(text).is_some() {
        return Ok(format!("{text}T00:00:00Z"));
    }
    let ago = ago(text).ok_or_else(|| {
        anyhow!(
            "'{text}' is no time: a date (2026-11-22), RFC 3339, or how long ago (90m, 24h, 7d, 2w)"
        )
    })?;
    Ok(rfc3339(Time::from_nanos(now.as_nanos().saturating_sub(ago.as_nanos() as u64))))
}

fn date(text: &str) -> Option<Date> {
    let [year, month, day] = text.split('-').collect::<Vec<_>>().try_into().ok()?;
    if [year.len(), month.len(), day.len()] != [4, 2, 2] {
        return None;
    }
    let month = Month::try_from(month.parse::<u8>().ok()?).ok()?;
    Date::from_calendar_date(year.parse().ok()?, month, day.parse().ok()?).ok()
}

fn ago(text: &str) -> Option<Duration> {
    let days =
        |number: &str, each: u32| DAY.checked_mul(number.parse::<u32>().ok()?)?.checked_mul(each);
    if let Some(number) = text.strip_suffix('d') {
        return days(number, 1);
    }
    if let Some(number) = text.strip_suffix('w') {
        return days(number, 7);
    }
    let has_unit = text.ends_with(|last: char| last.is_ascii_alphabetic());
    parse_duration(text).ok().filter(|_| has_unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-22T12:00:00Z.
    const NOW: Time = Time::from_nanos(1_795_348_800_000_000_000);

    fn since(text: &str) -> String {
        instant(text, NOW).unwrap()
    }

    #[test]
    fn a_time_is_a_date_an_instant_or_so_long_ago() {
        assert_eq!(since("2026-11-01"), "2026-11-01T00:00:00Z");
        assert_eq!(since("2026-11-01T10:00:00+02:00"), "2026-11-01T08:00:00Z");
        assert_eq!(since("7d"), "2026-11-15T12:00:00Z");
        assert_eq!(since("2w"), "2026-11-08T12:00:00Z");
        assert_eq!(since("90m"), "2026-11-22T10:30:00Z");
        for nonsense in ["2026-13-01", "2026-1-1", "yesterday", "7", "", "d", "-1d", "1h1"] {
            assert!(instant(nonsense, NOW).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn a_condition_that_is_none_is_told_what_there_is() {
        assert!(condition("metod=flow").unwrap_err().contains("did you mean 'method'"));
        assert!(condition("method=tcp").unwrap_err().contains("rfc6349"));
        assert!(condition("verdict=good").unwrap_err().contains("pass"));
        assert!(condition("far=").unwrap_err().contains("far"));
        assert!(condition("far").unwrap_err().contains("far=10.0.0.2"));
    }

    #[test]
    fn conditions_make_a_filter_and_none_is_given_twice() {
        let all = ["method=test", "far=10.0.0.2", "order=A-1"].map(|text| condition(text).unwrap());
        let found = filter(&all, NOW).unwrap();
        assert_eq!(found.method.as_deref(), Some("rfc6349"));
        assert_eq!(found.labels[3].as_deref(), Some("A-1"));
        let twice = [condition("far=a").unwrap(), condition("far=b").unwrap()];
        assert!(filter(&twice, NOW).unwrap_err().to_string().contains("twice"));
    }
}
