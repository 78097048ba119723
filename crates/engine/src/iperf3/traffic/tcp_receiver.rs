//! Receives on TCP streams: takes what comes, throws it away, counts.

use std::io;
use std::sync::Arc;

use rustix::event::epoll::EventFlags;
use rustix::net::RecvFlags;

use super::{LOOK_UP, Orders, Patience, Stream, StreamError};
use crate::iperf3::control::is_passing;
use crate::kernel_tcp::watch::Watch;
use crate::os::clock;

/// Taken from one stream at a time, so that the others have their turn.
const READ_BYTES: usize = 4 << 20;

pub(super) fn receive(streams: &[Arc<Stream>], orders: &Orders) -> Result<(), StreamError> {
    let mut watch = Watch::new().map_err(|e| streams[0].failed(e))?;
    for (index, stream) in streams.iter().enumerate() {
        let added = watch.add(stream, index as u64, EventFlags::IN);
        added.map_err(|e| stream.failed(e))?;
    }
    let mut unused = vec![0; READ_BYTES];
    let mut patience = Patience::new(orders);
    let mut open = streams.len();
    while open > 0 {
        let ready = watch.wait(LOOK_UP).map_err(|e| streams[0].failed(e))?;
        if patience.is_over(ready) {
            break;
        }
        for k in 0..ready {
            let stream = &streams[watch.ready(k) as usize];
            match take(stream, &mut unused) {
                Ok(0) => {
                    open -= 1;
                    watch.remove(stream).map_err(|e| stream.failed(e))?;
                }
                Ok(bytes) => {
                    let now = clock::now();
                    patience.on_arrival(now);
                    stream.tally.add_received(bytes as u64, now);
                }
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(stream.failed(error)),
            }
        }
    }
    Ok(())
}

/// Throws away what has arrived, up to the length of `unused`; 0 at the end of the stream.
fn take(stream: &Stream, unused: &mut [u8]) -> io::Result<usize> {
    let (_, bytes) = rustix::net::recv(stream, unused, RecvFlags::TRUNC)?;
    Ok(bytes)
}
