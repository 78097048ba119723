//! The conversation of one test on its control connection, from the cookie to the results.

use std::io::{self, ErrorKind};
use std::time::Duration;

use fp_model::Family;

use crate::StopFlag;
use crate::control::FarAddress;
use crate::iperf3::client::{ClientError, ClientPlan, dial, not_heard};
use crate::iperf3::control::{Control, ControlError};
use crate::iperf3::wire::{Cookie, Parameters, Results, State, StreamResult, Transport};
use crate::os::clock;
use crate::os::wake::wait;

/// How soon a server that is not ready is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(50);

pub(super) struct Session {
    far: String,
    pub(super) cookie: Cookie,
    pub(super) control: Control,
}

impl Session {
    /// The server may not be ready for a next test for as long as `patience`.
    pub(super) fn meet(
        far: &FarAddress,
        family: Option<Family>,
        patience: Duration,
        stop: &StopFlag,
    ) -> Result<Self, ClientError> {
        let deadline = clock::now() + patience;
        loop {
            match Self::meet_now(far, family, stop) {
                Err(Unmet { again: true, .. }) if clock::now() < deadline => {
                    let waited = wait(&[], ASK_AGAIN);
                    waited.map_err(|source| host("wait for the iperf3 server", source))?;
                }
                outcome => return outcome.map_err(|unmet| unmet.error),
            }
        }
    }

    fn meet_now(far: &FarAddress, family: Option<Family>, stop: &StopFlag) -> Result<Self, Unmet> {
        let cookie = Cookie::random().map_err(|source| host("make up a cookie", source))?;
        let plan = ClientPlan { family, ..ClientPlan::new(far.clone(), Transport::Tcp) };
        let control = dial::control(&plan, &cookie, stop).map_err(|error| {
            let again = is_between_tests(&error);
            Unmet { again, error }
        })?;
        let mut session = Self { far: far.to_string(), cookie, control };
        let outcome = session.control.expect(State::ParamExchange);
        outcome.map_err(|error| {
            let again = matches!(
                error,
                ControlError::Denied | ControlError::Closed | ControlError::Broken(_)
            );
            Unmet { again, error: not_heard(&session.far, error) }
        })?;
        Ok(session)
    }

    pub(super) fn ask(&mut self, asked: &Parameters) -> Result<(), ClientError> {
        let outcome = self.control.write_json(&asked.json());
        self.heard(outcome)?;
        let outcome = self.control.expect(State::CreateStreams);
        self.heard(outcome)
    }

    /// All streams are open: the server begins.
    pub(super) fn begin(&mut self) -> Result<(), ClientError> {
        let outcome = self.control.expect(State::TestStart);
        self.heard(outcome)?;
        let outcome = self.control.expect(State::TestRunning);
        self.heard(outcome)
    }

    /// Hears whether the server has something to say while the test runs: it has nothing good to say.
    pub(super) fn listen(&mut self) -> Result<(), ClientError> {
        let said = self.control.state_at_hand();
        match self.heard(said)? {
            None => Ok(()),
            Some(said) => {
                let error = self.control.unexpected(said);
                Err(not_heard(&self.far, error))
            }
        }
    }

    pub(super) fn say_end(&mut self) -> Result<(), ClientError> {
        let outcome = self.control.say(State::TestEnd);
        self.heard(outcome)
    }

    /// From the end of the test to the end of the conversation.
    pub(super) fn exchange(&mut self, streams: Vec<StreamResult>) -> Result<Results, ClientError> {
        let outcome = self.control.expect(State::ExchangeResults);
        self.heard(outcome)?;
        let retransmits = streams.iter().map(|stream| stream.retransmits).max().unwrap_or(-1);
        let sender_has_retransmits = i64::from(retransmits >= 0) * 2 - 1;
        let ours = Results { sender_has_retransmits, streams, ..Results::default() };
        // Numbers and short strings always have a form in JSON.
        let outcome = self.control.write_json(&serde_json::to_value(ours).unwrap_or_default());
        self.heard(outcome)?;
        let outcome = self.control.json(Results::OF_SERVER_BYTES_MAX);
        let theirs = self.heard(outcome)?;
        let results = Results::read(&theirs).map_err(|error| ClientError::Server {
            far: self.far.clone(),
            why: format!("its results: {error}"),
        })?;
        let outcome = self.control.expect(State::DisplayResults);
        self.heard(outcome)?;
        // All is known by now, whether the server hears of it or not.
        let _ = self.control.say(State::IperfDone);
        Ok(results)
    }

    fn heard<T>(&self, outcome: Result<T, ControlError>) -> Result<T, ClientError> {
        outcome.map_err(|error| not_heard(&self.far, error))
    }

    /// The server does not say what only it could tell.
    pub(super) fn untold(&self, what: &str) -> ClientError {
        ClientError::Server { far: self.far.clone(), why: format!("its results have no {what}") }
    }
}

/// Whether a server may just be closing the socket at which it was listening, to open the next one:
/// then nobody listens, or who was waiting there is turned away.
fn is_between_tests(error: &ClientError) -> bool {
    let turned_away = |kind| matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
    matches!(error, ClientError::Refused { .. })
        || matches!(error, ClientError::Host { source, .. } if turned_away(source.kind()))
}

/// No session, and whether there may be one soon.
struct Unmet {
    again: bool,
    error: ClientError,
}

impl From<ClientError> for Unmet {
    fn from(error: ClientError) -> Self {
        Self { again: false, error }
    }
}

pub(super) fn host(doing: &str, source: io::Error) -> ClientError {
    ClientError::Host { doing: doing.to_owned(), source }
}
