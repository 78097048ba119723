//! The web interface: plan, run, watch, explore and report, for the host's own user.
//!
//! It knows no method. A run is a process of its own, our own program again, whose command line is
//! made from the same options as at a terminal; what is shown comes from its events and, once it has
//! ended, from its result document.
//!
//! A form is made from the options of a command's parser, which also checks the order. One
//! measurement runs at a time, because two would measure each other. Every browser first receives
//! all events so far and then each new one, so that a reload shows the same. After the end,
//! everything is made from the result document, by the same writers as at the command line.

mod access;
mod cache;
mod counters;
mod networks;
mod openapi;
mod order;
mod page;
mod program;
mod refusal;
mod results;
mod runs;
mod series;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::get;

use access::Access;
pub use access::Announce;
use cache::Cache;
pub use order::{Checked, OfferedLoad, Order, OrderOption, Target};
pub use program::{Form, FormGroup, FormOption, Network, Program};
use runs::Runs;

/// More than any order or network takes.
const BODY_BYTES_MAX: usize = 1 << 20;
/// How often the user's signal is looked for.
const BEAT: Duration = Duration::from_millis(100);

/// A port of this host's loopback that is ours, and the way in.
#[derive(Debug)]
pub struct Site {
    listener: TcpListener,
    access: Arc<Access>,
}

/// What every request is answered from.
#[derive(Clone, Debug)]
struct House {
    program: Arc<Program>,
    runs: Arc<Runs>,
    cache: Arc<Cache>,
}

impl Site {
    /// Takes `port` of the loopback, or any where it is 0. No other host can reach it: there is
    /// neither TLS nor a login.
    ///
    /// # Errors
    /// That the port is taken; that the kernel has no randomness.
    pub fn bind(port: u16, announce: Announce) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        listener.set_nonblocking(true)?;
        let access = Arc::new(Access::new(listener.local_addr()?, announce)?);
        Ok(Self { listener, access })
    }

    /// Where a browser gets in, once.
    pub fn address(&self) -> String {
        self.access.address()
    }

    /// Serves until `is_over`; runs that are under way are then asked to end and waited for.
    ///
    /// # Errors
    /// What the system refused.
    pub fn serve(self, program: Program, is_over: impl Fn() -> bool) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let program = Arc::new(program);
        let runs = Arc::new(Runs::new(Arc::clone(&program))?);
        let house = House { program, runs: Arc::clone(&runs), cache: Arc::default() };
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let served = axum::serve(listener, router(house, self.access)).into_future();
            tokio::select! {
                served = served => served?,
                () = until(is_over) => {}
            }
            runs.end().await;
            Ok(())
        })
    }
}

async fn until(is_over: impl Fn() -> bool) {
    while !is_over() {
        tokio::time::sleep(BEAT).await;
    }
}

fn router(house: House, access: Arc<Access>) -> Router {
    let api = Router::new()
        .route("/about", get(program::about))
        .route("/methods", get(program::methods))
        .route("/openapi.json", get(openapi::document))
        .merge(networks::routes())
        .merge(runs::routes())
        .merge(results::routes())
        .merge(counters::routes());
    Router::new()
        .nest("/api/v1", api.with_state(house).fallback(refusal::unknown))
        .fallback(page::file)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(access, access::guard))
}
