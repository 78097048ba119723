//! What a machine is said to be able to do is what it just did.

use crate::process::fullpipe;

#[test]
fn a_machine_says_what_it_carries_to_itself_and_what_its_user_may_do() {
    let finished = fullpipe(&["doctor", "--json", "--duration", "1s"]);
    let found = finished.json();
    assert_eq!(finished.exit, Some(0), "{}", finished.stderr);
    assert_eq!(found["schema"], "fullpipe.doctor/1");
    // Each processor that this process may use was watched.
    let processors = found["processors"].as_array().unwrap();
    assert_eq!(processors.len(), std::thread::available_parallelism().unwrap().get(), "{found}");
    let own_loop = &found["own_loop"];
    let [least, most] = ["rtt_min_us", "rtt_p99_us"].map(|key| own_loop[key].as_f64().unwrap());
    assert!(0.0 < least && least <= most, "{own_loop}");
    let rates = own_loop["rates"].as_array().unwrap();
    let lengths: Vec<u64> =
        rates.iter().map(|rate| rate["frame_bytes"].as_u64().unwrap()).collect();
    assert_eq!(lengths, [64, 1518]);
    let loopback = found["interfaces"].as_array().unwrap().iter().find(|one| one["name"] == "lo");
    assert!(loopback.unwrap()["mtu_bytes"].as_u64().unwrap() >= 1500, "{found}");
    // Tests of the lab run here: whoever runs this may make networks.
    let rights = found["rights"].as_array().unwrap();
    let lab = rights.iter().find(|right| right["name"] == "lab").unwrap();
    assert_eq!(lab["granted"], true, "{lab}");
    let [status, findings] = ["status", "findings"].map(|key| &found["verdict"][key]);
    let is_clean = findings.as_array().unwrap().is_empty();
    assert_eq!(status, if is_clean { "pass" } else { "findings" });
}
