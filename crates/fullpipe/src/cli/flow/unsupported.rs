//! Options that iperf3 has and `fullpipe flow` has not, each with the nearest thing.

use clap::error::{ContextKind, ContextValue, ErrorKind};

const NEAREST: [(&[&str], &str); 24] = [
    (
        &["-s", "--server"],
        "the far end is `fullpipe serve`; `fullpipe serve --iperf3` serves iperf3 clients",
    ),
    (&["-p", "--port"], "the port follows the host: HOST:PORT (default 6349)"),
    (
        &["-Z", "--zerocopy", "--skip-rx-copy"],
        "payload comes from memory and is sent as cheaply as the kernel allows",
    ),
    (&["-F", "--file"], "payload is made, not read from a file: -n SIZE sends as many bytes"),
    (
        &["-A", "--affinity"],
        "the kernel places the threads: `taskset -c 0 fullpipe flow …` binds them all",
    ),
    (
        &["-B", "--bind", "--bind-dev"],
        "the routing table chooses the address: --cport chooses the port",
    ),
    (&["-T", "--title", "--extra-data"], "give the result a file name of your own: -o FILE"),
    (&["--json-stream-full-output"], "--json, or --json-stream for a line per event"),
    (&["-f", "--format"], "the screen chooses units that fit, --json has bits per second"),
    (&["-V"], "-v shows every slot of every flow, `fullpipe --version` the version"),
    (&["-d", "--debug"], "-v shows every slot of every flow"),
    (
        &["-D", "--daemon", "-1", "--one-off", "-I", "--pidfile"],
        "those are options of a server: `fullpipe serve`",
    ),
    (&["--logfile"], "-o FILE writes the result, stderr has the progress: 2> FILE"),
    (&["--forceflush"], "every line is written at once"),
    (&["--timestamps"], "--json-stream gives each line its time (t_s)"),
    (
        &["--connect-timeout", "--rcv-timeout", "--snd-timeout", "--idle-timeout"],
        "every wait has a limit of its own, a few seconds",
    ),
    (&["--pacing-timer"], "packets are sent one by one at the nanosecond they are due"),
    (&["-L", "--flowlabel"], "flows are told apart by their ports: --cport"),
    (&["-X", "--xbind", "--sctp", "--nstreams"], "SCTP is not spoken: TCP, or UDP with -u"),
    (
        &["-U", "--username", "--rsa-public-key-path", "--use-pkcs1-padding"],
        "the pairing string is the right to test: --key-file",
    ),
    (&["-m", "--mptcp"], "multipath TCP is not spoken: -P N opens several connections"),
    (&["--repeating-payload", "--cntl-ka", "--gsro"], "nothing like it is needed here"),
    (
        &["--tos-received", "--udp-counters-64bit"],
        "always so: every counter has 64 bits, what arrives is reported",
    ),
    (&["--no-fq-socket-pacing"], "pacing is off unless --fq-rate is given"),
];

/// The sentence for an option that a command line of iperf3 has; `None` where `error` is another.
pub(crate) fn explain(error: &clap::Error, words: &[String]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument || !words.iter().any(|word| word == "flow") {
        return None;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let name = unknown.split('=').next().unwrap_or(unknown);
    let (_, nearest) = NEAREST.iter().find(|(names, _)| names.contains(&name))?;
    Some(format!("{name} of iperf3 is not an option here: {nearest}"))
}
