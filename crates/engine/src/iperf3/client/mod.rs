//! The client of a test: asks the server for it, decides when it ends, and joins both ends' figures.

pub(super) mod dial;
mod plan;
mod report;
mod running;

use std::io;

use crate::iperf3::account::Interval;
use crate::iperf3::auth::AuthError;
use crate::iperf3::control::{Control, ControlError};
use crate::iperf3::traffic::{Offer, Traffic};
use crate::iperf3::wire::{Cookie, Parameters, ParametersError, Results, ResultsError, State};
use crate::os::{clock, tcp};
use crate::{Marking, StopFlag};
pub use plan::ClientPlan;
use report::Near;
pub use report::{ClientReport, Received, Sent, StreamReport};
use running::{Ended, Running};

/// What a client tells while a test runs.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// All streams are open; what was asked of the server.
    Started(Parameters),
    Interval(Interval),
}

/// Why there is no result: a sentence for the user.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("{0}")]
    Name(String),
    #[error("nothing listens on {far}: start `iperf3 -s` or `fullpipe serve --iperf3` there")]
    Refused { far: String },
    #[error(
        "{far} does not answer: check the address, and that no firewall stands before TCP to this \
         port"
    )]
    Unanswered { far: String },
    #[error("cannot {doing}: {source}")]
    Host { doing: String, source: io::Error },
    #[error("the iperf3 server {far} cannot be tested with: {why}")]
    Server { far: String, why: String },
    #[error("cannot open a {transport} stream to the iperf3 server: {source}")]
    Stream { transport: &'static str, source: io::Error },
    #[error("the test cannot be asked for: {0}")]
    Plan(#[from] ParametersError),
    #[error("{0}")]
    Credentials(#[from] AuthError),
    #[error("nothing has come through for {} s: the path or the iperf3 server is gone", running::STALL.as_secs())]
    Stalled,
    #[error("stopped")]
    Stopped,
}

/// Runs one test against an iperf3 server. When `stop` is set the test ends, and its report says
/// that it is not complete.
///
/// # Errors
/// A sentence on why there is no result.
pub fn run(
    plan: &ClientPlan,
    events: &mut dyn FnMut(ClientEvent),
    stop: &StopFlag,
) -> Result<ClientReport, ClientError> {
    let doing = |source| ClientError::Host { doing: "make up a cookie".into(), source };
    let cookie = Cookie::random().map_err(doing)?;
    let control = dial::control(plan, &cookie, stop)?;
    let mut session = Session { far: plan.far.to_string(), control };
    let (asked, traffic) = session.open(plan, &cookie, stop)?;
    events(ClientEvent::Started(asked.clone()));
    session.conduct(&asked, traffic, plan, events, stop)
}

struct Session {
    far: String,
    control: Control,
}

impl Session {
    fn open(
        &mut self,
        plan: &ClientPlan,
        cookie: &Cookie,
        stop: &StopFlag,
    ) -> Result<(Parameters, Traffic), ClientError> {
        let outcome = self.control.expect(State::ParamExchange);
        self.heard(outcome)?;
        // A kernel that does not tell has Ethernet's.
        let segment_bytes = tcp::info(self.control.stream()).map_or(1460, |tcp| tcp.snd_mss_bytes);
        let asked = plan.parameters(segment_bytes)?;
        let document = asked.json();
        // What a server would refuse is refused here, with a better sentence.
        let asked = Parameters::read(document.to_string().as_bytes())?;
        let outcome = self.control.write_json(&document);
        self.heard(outcome)?;
        let outcome = self.control.expect(State::CreateStreams);
        self.heard(outcome)?;
        let marking = Marking { traffic_class: asked.tos, near_port: None };
        let streams = dial::streams(&self.control, &asked, cookie, |_| marking, stop)?;
        let traffic = Traffic::receive(asked.transport, streams, asked.counter)
            .map_err(host("start to receive"))?;
        let outcome = self.control.expect(State::TestStart);
        self.heard(outcome)?;
        let outcome = self.control.expect(State::TestRunning);
        self.heard(outcome)?;
        Ok((asked, traffic))
    }

    fn conduct(
        &mut self,
        asked: &Parameters,
        mut traffic: Traffic,
        plan: &ClientPlan,
        events: &mut dyn FnMut(ClientEvent),
        stop: &StopFlag,
    ) -> Result<ClientReport, ClientError> {
        let started = clock::now();
        let offer = match asked.omit.is_zero() {
            true => Offer::to_the_end(asked),
            // The omitted part does not count: only who looks at the clock can tell.
            false => Offer::without_end(asked),
        };
        let mut running = Running::new(asked, plan.interval, &traffic, started);
        traffic.send(asked.transport, offer).map_err(host("start to send"))?;
        let ended = running.run(&mut self.control, &mut traffic, events, stop);
        let (ended, closed) = ended.map_err(|error| error.at(&self.far))?;
        let mut near = Near { closed, late_bytes: vec![0; traffic.streams().len()] };
        let results = match ended {
            Ended::Complete => Some(self.exchange(&mut near, &mut traffic)?),
            Ended::Stopped => {
                // The server learns it from the closed connection at the latest.
                let _ = self.control.say(State::ClientTerminate);
                None
            }
        };
        self.report(asked, &near, results)
    }

    /// From the end of the test to the end of the conversation.
    fn exchange(&mut self, near: &mut Near, traffic: &mut Traffic) -> Result<Results, ClientError> {
        let outcome = self.control.say(State::TestEnd);
        self.heard(outcome)?;
        let outcome = self.control.expect(State::ExchangeResults);
        self.heard(outcome)?;
        // The server may have reset its streams, now that they are of no use.
        let _ = traffic.drain();
        let late = traffic.counts().into_iter().zip(&near.closed.balances);
        near.late_bytes = late.map(|(now, then)| now.since(&then.whole).bytes).collect();
        // Numbers and short strings always have a form in JSON.
        let document = serde_json::to_value(near.closed.results()).unwrap_or_default();
        let outcome = self.control.write_json(&document);
        self.heard(outcome)?;
        let outcome = self.control.json(Results::OF_SERVER_BYTES_MAX);
        let theirs = self.heard(outcome)?;
        let results = Results::read(&theirs).map_err(|error| self.nonsense(&error))?;
        let outcome = self.control.expect(State::DisplayResults);
        self.heard(outcome)?;
        // All is known by now, whether the server hears of it or not.
        let _ = self.control.say(State::IperfDone);
        Ok(results)
    }

    fn report(
        &self,
        asked: &Parameters,
        near: &Near,
        results: Option<Results>,
    ) -> Result<ClientReport, ClientError> {
        let far = results.as_ref();
        let output = |results: &Results| match &results.server_output_json {
            Some(json) => Some(json.to_string()),
            None => results.server_output_text.clone(),
        };
        Ok(ClientReport {
            near: self.control.local().map_err(host("tell this end's address"))?,
            far: self.control.peer().map_err(host("tell the far end's address"))?,
            asked: asked.clone(),
            streams: near.streams(asked, far),
            near_processor: near.closed.processor,
            far_processor: far.map(report::processor_of),
            near_congestion: near.closed.results().congestion_used,
            far_congestion: far.and_then(|far| far.congestion_used.clone()),
            server_output: far.and_then(output),
            complete: results.is_some(),
        })
    }

    fn heard<T>(&self, outcome: Result<T, ControlError>) -> Result<T, ClientError> {
        outcome.map_err(|error| not_heard(&self.far, error))
    }

    fn nonsense(&self, error: &ResultsError) -> ClientError {
        ClientError::Server { far: self.far.clone(), why: format!("its results: {error}") }
    }
}

pub(super) fn not_heard(far: &str, error: ControlError) -> ClientError {
    match error {
        ControlError::Stopped => ClientError::Stopped,
        error => ClientError::Server { far: far.to_owned(), why: error.to_string() },
    }
}

fn host(doing: &str) -> impl FnOnce(io::Error) -> ClientError + use<'_> {
    move |source| ClientError::Host { doing: doing.to_owned(), source }
}
