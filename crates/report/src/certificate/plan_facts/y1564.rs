//! What the services of a service activation test were sold as.

use crate::document::Fact;
use crate::stored::fields::Fields;

pub(super) const TOLD: [&str; 1] = ["services"];

pub(super) fn facts(plan: Fields<'_>) -> Vec<Fact> {
    plan.each("services").map(service).collect()
}

fn service(service: Fields<'_>) -> Fact {
    let traffic = service.inside("traffic");
    let is_positive = |field: &str| traffic.number(field).is_some_and(|value| value > 0.0);
    let mut parts = vec![format!("CIR {} l2", service.rate("cir_l2_bps"))];
    if is_positive("eir_l2_bps") {
        parts.push(format!("EIR {} l2", traffic.rate("eir_l2_bps")));
    }
    for (field, name) in [("cbs_bytes", "CBS"), ("ebs_bytes", "EBS")] {
        if is_positive(field) {
            parts.push(format!("{name} {} bytes", traffic.grouped(field)));
        }
    }
    if is_positive("connections") {
        parts.push(format!("{} TCP connections", traffic.grouped("connections")));
    }
    parts.push(format!("DSCP {}", service.grouped("dscp")));
    parts.extend(criteria(traffic.inside("criteria")));
    Fact::new(&format!("Service {}", service.word("name")), parts.join(", "))
}

fn criteria(criteria: Fields<'_>) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(flr) = criteria.number("flr") {
        // Of a ratio that was written in decimals no more digits than it had.
        let percent = format!("{:.6}", 100.0 * flr);
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        parts.push(format!("loss at most {percent} %"));
    }
    if criteria.number("ftd_s").is_some() {
        parts.push(format!("delay at most {}", criteria.seconds("ftd_s")));
    }
    if criteria.number("fdv_s").is_some() {
        parts.push(format!("delay variation at most {}", criteria.seconds("fdv_s")));
    }
    if let Some(percent) = criteria.number("availability_percent") {
        parts.push(format!("available for at least {percent} %"));
    }
    parts
}
