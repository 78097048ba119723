//! A port with three services, each with a policer of its own, and what a run over it found.

use serde_json::Value;

use crate::folder::Folder;
use crate::result::Finished;

/// The network that is what was sold: its policers are those of `SERVICES`.
const NETWORK: &str = include_str!("../../../../tests/evidence/three-services.yaml");

/// Short steps: the simulation needs no patience, the lab has little.
const SERVICES: &str = include_str!("../../../../tests/evidence/services.yaml");

/// The port and what is asked of it, with what a test changes.
pub(crate) struct Port {
    network: String,
    services: String,
}

impl Port {
    /// Everything as it was sold.
    pub(crate) fn sound() -> Self {
        Self { network: NETWORK.to_owned(), services: SERVICES.to_owned() }
    }

    pub(crate) fn network(self, from: &str, to: &str) -> Self {
        assert!(self.network.contains(from), "no {from:?} in the network");
        Self { network: self.network.replace(from, to), ..self }
    }

    pub(crate) fn services(self, from: &str, to: &str) -> Self {
        assert!(self.services.contains(from), "no {from:?} among the services");
        Self { services: self.services.replace(from, to), ..self }
    }

    /// The files of network and services, for as long as the folder is there.
    pub(crate) fn written(&self) -> (Folder, String, String) {
        let folder = Folder::new();
        let network = folder.written("network.yaml", &self.network);
        let services = folder.written("services.yaml", &self.services);
        (folder, network, services)
    }
}

impl Finished {
    /// All but the baseline round trip.
    pub(crate) fn of_services(&self) -> impl Iterator<Item = &Value> {
        let steps = self.result["steps"].as_array().unwrap();
        steps.iter().filter(|step| step["name"] != "baseline_rtt")
    }

    /// The configuration steps of a service in one direction, by what was offered.
    pub(crate) fn step(&self, service: &str, direction: &str, offered: &str) -> &Value {
        let steps = self.steps("y1564_configuration");
        let wanted = |step: &&Value| {
            step["service"] == service
                && step["direction"] == direction
                && step["step"] == offered
                && step["cir_percent"].as_u64().is_none_or(|percent| percent == 100)
        };
        steps
            .into_iter()
            .find(wanted)
            .unwrap_or_else(|| panic!("no {service} {direction} {offered}"))
    }

    pub(crate) fn performance(&self, service: &str, direction: &str) -> &Value {
        let steps = self.steps("y1564_performance");
        let wanted = |step: &&Value| step["service"] == service && step["direction"] == direction;
        steps
            .into_iter()
            .find(wanted)
            .unwrap_or_else(|| panic!("no {service} {direction} in the performance test"))
    }

    pub(crate) fn reasons(&self, code: &str) -> Vec<&str> {
        let reasons = self.result["verdict"]["reasons"].as_array().unwrap();
        let coded = reasons.iter().filter(|reason| reason["code"] == code);
        coded.map(|reason| reason["text"].as_str().unwrap()).collect()
    }

    /// Exactly this service failed, and in each of its failed steps for one of these reasons.
    pub(crate) fn only_failed(&self, service: &str, codes: &[&str]) {
        let otherwise = self.otherwise_than_failed(service, codes);
        assert_eq!(otherwise, None, "{:#}\n{}", self.result["verdict"], self.stderr);
    }

    /// What else than that came out.
    fn otherwise_than_failed(&self, service: &str, codes: &[&str]) -> Option<String> {
        if (self.exit, self.status()) != (1, "fail") {
            return Some(format!("{} and exit code {}", self.status(), self.exit));
        }
        let failed = self.reasons("services_failed");
        if failed != [format!("1 of 3 services failed: {service}")] {
            return Some(failed.join("; "));
        }
        for step in self.of_services() {
            let failures = step["failures"].as_array().unwrap();
            let told = failures.iter().map(|failure| failure["code"].as_str().unwrap());
            let told: Vec<_> = told.collect();
            let is_expected = told.iter().all(|code| codes.contains(code));
            let may_fail = step["service"] == service;
            if (step["pass"] == true) != told.is_empty()
                || !is_expected
                || !(may_fail || step["pass"] == true)
            {
                return Some(step.to_string());
            }
        }
        let texts: Vec<_> = codes.iter().flat_map(|code| self.reasons(code)).collect();
        let is_named = !texts.is_empty() && texts.iter().all(|text| text.starts_with(service));
        (!is_named).then(|| texts.join("; "))
    }
}
