//! `iperf3://` as far end: servers that are none.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use crate::process::fullpipe;

#[test]
fn what_a_stock_server_is_no_far_end_for_is_refused_with_the_remedy() {
    for (words, said) in [
        (&["test", "iperf3://192.0.2.1"][..], "--cir"),
        (&["test", "iperf3://192.0.2.1", "--cir", "40M", "--sender", "burst"], "--sender"),
        (&["burst", "iperf3://192.0.2.1", "--cir", "40M", "--cbs", "64K"], "fullpipe serve"),
        (&["rfc2544", "iperf3://192.0.2.1"], "fullpipe serve"),
        (&["test", "iperf3://", "--cir", "40M"], "iperf3://HOST"),
        (&["test", "iperf3://[::1]:0", "--cir", "40M"], "no port"),
    ] {
        let run = fullpipe(words);
        assert_eq!((run.exit, run.stdout.as_str()), (Some(2), ""), "{run:#?}");
        assert!(run.stderr.contains(said), "no {said:?} in {}", run.stderr);
    }
}

#[test]
fn a_server_that_is_none_or_is_busy_is_named_in_time() {
    for (answer, said) in
        [(&b"SSH-2.0-OpenSSH_9.2p1\r\n"[..], "does not speak iperf3"), (&[0xff], "busy")]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let far = format!("iperf3://{}", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut control, _) = listener.accept().unwrap();
            control.write_all(answer).unwrap();
            // Until the client has gone.
            let _ = control.read_to_end(&mut Vec::new());
        });
        let run = fullpipe(&["test", &far, "--cir", "40M"]);
        server.join().unwrap();
        assert_eq!((run.exit, run.stdout.as_str()), (Some(3), ""), "{run:#?}");
        assert!(run.stderr.contains(said), "no {said:?} in {}", run.stderr);
        assert!(run.took < Duration::from_secs(10), "{run:#?}");
    }
}
