//! Nonsense ends with exit code 2 before anything is sent: what is wrong, where, and what would do.

use crate::folder::Folder;
use crate::result::output;

fn refused(words: &[&str], said: &str) {
    let output = output(["flow", "--lab", "ideal"].iter().chain(words).copied());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
    assert!(output.stdout.is_empty() && stderr.contains(said), "{words:?}: {stderr}");
}

#[test]
fn what_cannot_be_sent_is_refused() {
    for (words, said) in [
        (&["-P", "1000000000"][..], "from 1 to 10000 TCP connections or 256 UDP streams"),
        (&["--max-loss", "1%"], "--max-loss is of UDP packets"),
        (&["-u", "-P", "257"], "257 flows are too many"),
        (&["-u", "-b", "1T", "-l", "18"], "6944444444 packets a second, more than 10000000"),
        (&["-u", "-l", "1473"], "to 1472"),
        (&["-u", "-b", "0"], "give the rate of the line"),
        (&["--dscp", "gold"], "a DSCP is a number from 0 to 63 or one of"),
        (&["--ecn", "ect0"], "TCP negotiates it"),
        (&["-b", "10M@l1"], "TCP writes payload"),
        (&["-n", "1M", "-O", "1"], "leave out one of them"),
        (&["-l", "64,576"], "TCP writes one length"),
        (&["-n", "0"], "more than zero"),
        (&["-k", "1000000000000", "-l", "1Mi"], "at most 2^50"),
        (&["-M", "1461"], "at most 1460"),
        (&["-u", "--imix=aq"], "`q` is no letter of an IMIX"),
        (&["-u", "-P", "2", "--cport", "65535"], "begin lower"),
        (&["-t", "0"], "0.1 s to 24 h"),
        (&["--engine", "user", "-u"], "--engine makes no difference to UDP"),
        (&["--engine", "user", "-C", "bbr"], "sends by cubic or reno, not by bbr"),
        (&["--engine", "user", "-C", "host"], "not by the host's choice"),
        (&["--engine", "user", "--fq-rate", "10M"], "a pacing limit (--fq-rate)"),
        (&["--engine", "user", "-n", "1M"], "transfers (-n, -k)"),
        (&["--engine", "user", "-l", "16K"], "the length of writes (-l)"),
        (&["--engine", "user", "--profile", "triangle:peak=3M"], "--profile is followed by"),
        (&["--engine", "dpdk"], "[possible values: kernel, user]"),
    ] {
        refused(words, said);
    }
}

#[test]
fn a_profile_that_goes_back_in_time_is_refused_with_its_place() {
    for (profile, said) in [
        ("triangle:peak=300M,period=-20s", "period, `-20s`: a time is not negative"),
        ("triangle:peak=1M,low=2M", "low is above peak"),
        ("triangle:period=2s", "peak=RATE is missing"),
        ("triangle:peak=2M,colour=red", "there is no key `colour` here"),
        ("zigzag:peak=3M", "there are triangle, sawtooth"),
        ("steps:10M/5s,20M", "step 2, `20M`: a step is a rate and a time"),
        ("steps:10M/-5s", "a time is not negative"),
        ("poisson:rate=0", "rate must be more than zero"),
        ("csv:/no/such/file", "cannot read /no/such/file"),
    ] {
        refused(&["--profile", profile], said);
    }
    let folder = Folder::new();
    for (text, said) in [
        ("0,1M\n2,5M\n1,3M\n", ":3: the time is not after that of the line before"),
        ("time,rate\n0,1M\n-1,5M\n", ":3: time, `-1`: a time is not negative"),
        ("0,1M\n1 5M\n", ":2: `1 5M`: a line is a time and a rate"),
        ("", "has 0 points"),
    ] {
        let profile = format!("csv:{}", folder.written("p.csv", text));
        refused(&["--profile", &profile], said);
    }
}

#[test]
fn an_option_of_iperf3_that_is_not_here_names_the_nearest_thing() {
    for (words, said) in [
        (&["-Z"][..], "as cheaply as the kernel allows"),
        (&["-p", "5201"], "HOST:PORT"),
        (&["-s"], "`fullpipe serve`"),
        (&["-A", "2"], "taskset"),
        (&["-V"], "-v shows every slot"),
        (&["-i", "0"], "-q leaves out"),
        (&["--logfile", "x"], "-o FILE"),
        (&["-b", "10M/100"], "fullpipe burst"),
    ] {
        refused(words, said);
    }
}

#[test]
fn a_flows_file_is_refused_with_line_and_column() {
    let folder = Folder::new();
    let head = "schema: fullpipe.flows/1\nflows:\n";
    let file = folder.written("f.yaml", &format!("{head}  - {{name: a, dscp: gold}}\n"));
    refused(&["--flows", &file], "f.yaml:3:21: `gold`: a DSCP is");
    refused(&["--flows", "/no/such.yaml"], "/no/such.yaml");
}
