//! Nonsense ends with exit code 2 before anything is opened: what is wrong, where, what is allowed.

use crate::result::output;

fn refused(words: &[&str], said: &[&str]) {
    let sim = ["sim", "ideal", "stress"];
    let lab = ["stress", "--lab", "ideal"];
    for command in [&sim[..], &lab] {
        // A simulation takes no option of the lab.
        let output = output([command, words].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?} {words:?}: {stderr}");
        assert!(output.stdout.is_empty());
        for said in said {
            assert!(stderr.contains(said), "{said:?} of {words:?}: {stderr}");
        }
    }
}

#[test]
fn a_value_that_makes_no_sense_is_refused_with_its_option_and_what_is_allowed() {
    for (option, value, allowed) in [
        ("--connections", "0", "1 to 1073741824"),
        ("--connections", "many", "100k or 24M"),
        ("--rate", "0/s", "400k/s"),
        ("--ramp-up", "25h", "at most 24 h"),
        ("--steady", "soon", "number"),
        ("--stages", "30s", "30s:100k"),
        ("--stages", "30s:1M,2m:5G", "1 to 1073741824"),
        ("--mix", "dance:10%", "idle, transaction, download, upload and both"),
        ("--mix", "idle:10%@1M", "only download, upload and both have a rate"),
        ("--mix", "download:20%@fast", "'download:20%@fast'"),
        ("--request", "0", "1 byte to 1 GiB"),
        ("--lifetime", "0", "1 ms to 24 h"),
        ("--close", "gently", "fin, reset"),
        ("--direction", "both", "download, upload"),
        ("--clients", "here", "198.18.0.0/16"),
        ("--servers", "198.19.0.0/33", "1 to 32 bits"),
        ("--client-ports", "9-8", "1 to 65535"),
        ("--server-ports", "0", "1 to 65535"),
        ("--dscp", "gold", "0 to 63"),
        ("--mss", "63", "64 to 9000"),
        ("--window", "1", "1,000"),
        ("--tolerance", "-1", "percentage"),
        ("--min-setup-rate", "fast", "such as 400k/s"),
    ] {
        refused(&[&format!("{option}={value}")], &[option, allowed]);
    }
}

#[test]
fn what_contradicts_itself_is_refused_with_what_would_do() {
    refused(&[], &["--connections 100k", "--stages"]);
    refused(&["--connections", "10", "--stages", "1s:10"], &["--stages", "--connections"]);
    refused(&["--ramp-up", "1s", "--stages", "1s:10"], &["--ramp-up", "--stages"]);
    refused(&["--stages", "10s:0"], &["--stages", "ask for at least one"]);
    refused(&["--stages", "0s:10"], &["give them some"]);
    // 5 s and 10 s at 100 in a second are 1,500.
    let slow = ["--connections", "10k", "--rate", "100/s", "--ramp-up", "5s"];
    refused(&slow, &["100 connections/s", "1500 of 10000", "give more time"]);
}

/// Two hosts of 64,512 ports each towards one server: 129,024; 200,000 need four such combinations.
#[test]
fn more_connections_than_addresses_and_ports_are_refused_with_the_numbers() {
    let few = ["--connections", "200k", "--clients", "198.18.0.0/30"];
    refused(&few, &["200000", "4 combinations", "2 clients", "129024", "--client-ports"]);
    let fits = ["--connections", "100", "--clients", "198.18.0.1", "--client-ports", "1000-1099"];
    // Whoever is renewed takes the ports of another meanwhile.
    refused(&[&fits[..], &["--lifetime", "1s"]].concat(), &["200", "100", "--client-ports"]);
}

#[test]
fn addresses_that_cannot_be_are_refused_by_name() {
    let with = |words: &[&str], said: &[&str]| {
        refused(&[&["--connections", "10"], words].concat(), said);
    };
    with(&["--clients", "198.18.0.1/16"], &["198.18.0.1", "zero"]);
    with(&["--servers", "198.18.0.0/16"], &["in common"]);
    with(&["--clients", "198.18.0.0/24", "--servers", "2001:2::/64"], &["2001:2::", "IPv4"]);
    with(&["--clients", "224.0.0.0/8"], &["no network of hosts"]);
}

#[test]
fn addresses_of_the_other_family_are_refused() {
    let refused = |words: &[&str], said: &str| {
        let output = output([&["sim", "ideal", "stress", "--connections", "10"], words].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains(said), "{words:?}: {stderr}");
    };
    refused(&["-6", "--clients", "198.18.0.0/24"], "198.18.0.0 is no network of IPv6");
    refused(&["--clients", "2001:2::/64"], "2001:2:: is no network of IPv4");
    refused(&["-6", "--translated"], "over IPv4");
}

/// 2^30 connections of 92 bytes, at both ends, are 197,568 MB.
#[test]
fn more_connections_than_memory_are_refused_with_the_numbers() {
    let told = std::fs::read_to_string("/proc/meminfo").unwrap();
    let total = told.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap();
    let total: u64 = total.trim().trim_end_matches("kB").trim().parse().unwrap();
    if total > 180_000_000 {
        // They would fit this machine.
        return;
    }
    let words = ["--connections", "1073741824"];
    refused(&words, &["1073741824 connections take 197568 MB", "98784 MB at each of 2 ends"]);
    refused(&words, &["ask for up to", "--connections, --stages"]);
}
