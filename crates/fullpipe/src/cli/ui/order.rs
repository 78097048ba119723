//! From an order of the web interface to the words of a command line, checked by its parser.

use fp_server::web::{Checked, Order, Target as Ordered};

use super::super::{secrets, words};
use crate::plan::{Setting, Target};
use crate::yaml::{Text, nowhere};

/// # Errors
/// What is wrong with the order, as a sentence.
pub(super) fn check(order: &Order) -> Result<Checked, String> {
    let target = target(&order.target)?;
    let method = nowhere(order.method.clone());
    let methods = words::methods();
    if !methods.contains(&order.method) {
        return Err(format!("no method is `{}`: {} are", order.method, methods.join(", ")));
    }
    let (words, asked) = words::understood(&method, &settings(order)?, &target)
        .map_err(|problem| problem.sentence().to_owned())?;
    let cost = asked.cost();
    let load = asked.offered();
    Ok(Checked {
        command: command(&words),
        at_least_s: cost.at_least.as_secs_f64(),
        at_most_bytes: cost.at_most_bytes,
        load: (!load.is_empty()).then_some(load),
        words,
    })
}

fn target(ordered: &Ordered) -> Result<Target, String> {
    match ordered {
        Ordered::Far { address, .. } if address.trim().is_empty() => {
            Err("name a far end: the pairing string that `fullpipe serve` printed there, or \
                 HOST[:PORT] with its secret"
                .into())
        }
        Ordered::Far { address, .. } if address.trim_start().starts_with('-') => {
            Err(format!("`{}` is no far end: HOST[:PORT]", secrets::left_out(address)))
        }
        Ordered::Far { address, .. } => Ok(Target::Far(address.clone())),
        Ordered::Lab { network, .. } => network_of(network.as_deref()).map(Target::Lab),
        Ordered::Sim { network, .. } => network_of(network.as_deref()).map(Target::Sim),
    }
}

fn network_of(network: Option<&str>) -> Result<String, String> {
    match network.map(str::trim) {
        None | Some("") => Err("choose a network".into()),
        Some(name) if name.starts_with('-') => Err(format!("`{name}` is no network")),
        Some(name) => Ok(name.to_owned()),
    }
}

/// Options that are given more than once are one setting with several values.
fn settings(order: &Order) -> Result<Vec<Setting>, String> {
    let mut settings: Vec<Setting> = Vec::new();
    let labels = order.labels.iter().filter(|(_, text)| !text.trim().is_empty());
    let options = order.options.iter().map(|option| (&option.name, &option.value));
    for (name, value) in options.chain(labels) {
        let value: Text = nowhere(value.clone());
        match settings.iter_mut().find(|setting| setting.key.value == *name) {
            Some(setting) => setting.values.push(value),
            None => settings.push(Setting { key: nowhere(name.clone()), values: vec![value] }),
        }
    }
    Ok(settings)
}

/// As one would type it.
fn command(words: &[String]) -> String {
    let is_plain = |word: &&String| {
        !word.is_empty()
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./:,@%+[]".contains(c))
    };
    let typed = |word: &String| match Some(word).filter(is_plain) {
        Some(word) => word.clone(),
        None => format!("'{}'", word.replace('\'', r"'\''")),
    };
    let words: Vec<String> = words.iter().map(typed).collect();
    format!("fullpipe {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use fp_server::web::OrderOption;

    use super::*;

    fn order(method: &str, network: &str, options: &[(&str, &str)]) -> Order {
        let option = |(name, value): &(&str, &str)| OrderOption {
            name: (*name).into(),
            value: (*value).into(),
        };
        Order {
            method: method.into(),
            target: Ordered::Lab { network: Some(network.into()), yaml: None },
            options: options.iter().map(option).collect(),
            labels: [("site".into(), "Hamburg's east".into())].into(),
        }
    }

    #[test]
    fn an_order_is_what_one_would_type() {
        let options = [("cir", "40M"), ("cbs", "64K"), ("frames", "64,1518")];
        let checked = check(&order("burst", "metro-40m-cbs64k", &options)).unwrap();
        assert_eq!(
            checked.command,
            "fullpipe burst --lab metro-40m-cbs64k --cir=40M --cbs=64K --frames=64,1518 \
             '--site=Hamburg'\\''s east'"
        );
        assert!(checked.at_least_s > 0.0);
    }

    #[test]
    fn what_a_flow_will_offer_is_shown_before_it_is_sent() {
        let load = |options: &[_]| {
            let checked = check(&order("flow", "ideal", options)).unwrap();
            let load = checked.load.unwrap_or_default().into_iter();
            load.map(|load| (load.flow, load.points)).collect::<Vec<_>>()
        };
        let two = [("udp", "true"), ("bitrate", "10M"), ("parallel", "2"), ("time", "4s")];
        assert_eq!(load(&two), [("udp, upload".into(), vec![(0.0, 20e6), (4.0, 20e6)])]);
        let wave = [("profile", "square:low=1M,peak=3M,period=2s,interval=1s"), ("time", "3s")];
        let points = vec![(0.0, 3e6), (1.0, 1e6), (2.0, 3e6), (3.0, 3e6)];
        assert_eq!(load(&wave), [("tcp, upload".into(), points)]);
        // As fast as the network lets it.
        assert_eq!(load(&[("time", "3s")]), []);
    }

    #[test]
    fn what_is_wrong_is_said_in_a_sentence() {
        let refused =
            |method, network, options: &[_]| check(&order(method, network, options)).unwrap_err();
        assert!(refused("burst", "ideal", &[("cir", "fast")]).contains("--cir"));
        assert!(refused("burst", "ideal", &[("crr", "1M")]).contains("did you mean `cir`"));
        assert!(refused("burst", "ideal", &[("output", "/etc/passwd")]).contains("not for"));
        assert!(refused("burst", "--truth=/tmp/x", &[]).contains("no network"));
        assert!(refused("serve", "ideal", &[]).contains("no method is `serve`"));
        assert!(refused("test", "", &[]).contains("choose a network"));
    }
}
