//! Runs that were started here: each a process of its own, watched by as many as like.

mod child;
pub(super) mod stream;
mod view;

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Serialize;
use tokio::sync::{Notify, broadcast};
use utoipa::ToSchema;

use super::order::{Checked, Order, Target};
use super::refusal::{Refusal, Refused};
use super::{House, Program};
use view::{Head, News, RunView, State as RunState, Watched};

/// Ended ones that are remembered.
const ENDED_MAX: usize = 50;
/// Simulations at a time; measurements would measure each other.
const SIMULATIONS_MAX: usize = 2;
/// News that a slow watcher may be behind before it is told everything anew.
const NEWS_MAX: usize = 1024;

pub(super) fn routes() -> Router<House> {
    Router::new()
        .route("/runs", get(list).post(start))
        .route("/runs/check", post(check))
        .route("/runs/{id}", get(one).delete(stop))
        .route("/runs/{id}/events", get(stream::events))
}

/// All runs of one server.
#[derive(Debug)]
pub(super) struct Runs {
    program: Arc<Program>,
    known: Mutex<Known>,
    /// Networks that users have written.
    folder: PathBuf,
}

#[derive(Debug, Default)]
struct Known {
    started: u64,
    runs: VecDeque<Arc<Run>>,
}

/// One run.
#[derive(Debug)]
pub(super) struct Run {
    is_simulation: bool,
    watched: Mutex<Watched>,
    news: broadcast::Sender<News>,
    /// Somebody wants it to end.
    stop: Notify,
    /// It has.
    ended: Notify,
}

impl Run {
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn head(&self) -> Head {
        self.watched().head.clone()
    }

    /// Everything so far, and whatever follows: nothing in between gets lost.
    fn watch(&self) -> (News, broadcast::Receiver<News>) {
        let watched = self.watched();
        (watched.news(), self.news.subscribe())
    }

    /// Changes what is known of the run and tells its watchers.
    fn on(&self, change: impl FnOnce(&mut Watched) -> Option<News>) {
        let mut watched = self.watched();
        if let Some(news) = change(&mut watched) {
            // Nobody may be watching.
            let _ = self.news.send(news);
        }
    }

    fn ask_to_end(&self) {
        let mut watched = self.watched();
        if watched.head.state == RunState::Running {
            watched.head.state = RunState::Stopping;
            self.stop.notify_one();
        }
    }
}

impl Runs {
    pub(super) fn new(program: Arc<Program>) -> io::Result<Self> {
        let folder = child::private_folder()?;
        Ok(Self { program, known: Mutex::new(Known::default()), folder })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &str) -> Result<Arc<Run>, Refusal> {
        let found = self.known().runs.iter().find(|run| run.watched().head.id == id).cloned();
        found.ok_or_else(|| Refusal::unknown(format!("there is no run {id}, or not any more")))
    }

    fn expect_room(&self, wants_simulation: bool) -> Result<(), Refusal> {
        let known = self.known();
        let going_on = known.runs.iter().filter(|run| {
            run.is_simulation == wants_simulation && run.watched().head.state != RunState::Ended
        });
        match (wants_simulation, going_on.count()) {
            (false, 1..) => Err(Refusal::not_now(
                "a measurement is under way, and two at once would measure each other: wait for \
                 its end, or stop it",
            )),
            (true, SIMULATIONS_MAX..) => Err(Refusal::not_now(
                "two simulations are under way: wait for the end of one, or stop it",
            )),
            _ => Ok(()),
        }
    }

    /// The command line of an order. A network that the user has written is put where `place` says.
    fn checked(
        &self,
        order: &mut Order,
        place: impl FnOnce(&str) -> io::Result<String>,
    ) -> Result<Checked, Refusal> {
        if let Target::Lab { network, yaml } | Target::Sim { network, yaml } = &mut order.target
            && let Some(text) = yaml.take()
        {
            (self.program.read_network)(&text).map_err(Refusal::bad_input)?;
            let file = place(&text)
                .map_err(|error| Refusal::not_done(format!("cannot keep the network: {error}")))?;
            *network = Some(file);
        }
        (self.program.check)(order).map_err(Refusal::bad_input)
    }

    fn start(&self, mut order: Order) -> Result<String, Refusal> {
        let checked = self.checked(&mut order, |text| child::network_file(&self.folder, text))?;
        let is_simulation = matches!(order.target, Target::Sim { .. });
        self.expect_room(is_simulation)?;
        let process = child::spawn(&order, &checked)
            .map_err(|error| Refusal::not_done(format!("cannot start a program: {error}")))?;
        let mut known = self.known();
        known.started += 1;
        let head = Head {
            id: format!("r{}", known.started),
            command: checked.command,
            method: order.method,
            across: across(&order.target),
            started: (self.program.now)(),
            state: RunState::Running,
            exit_code: None,
            verdict: None,
            result_id: None,
            error: None,
        };
        let id = head.id.clone();
        let run = Arc::new(Run {
            is_simulation,
            watched: Mutex::new(Watched::new(head)),
            news: broadcast::channel(NEWS_MAX).0,
            stop: Notify::new(),
            ended: Notify::new(),
        });
        tokio::spawn(child::follow(process, Arc::clone(&run)));
        known.runs.push_front(run);
        let mut ended = 0;
        known.runs.retain(|run| {
            ended += usize::from(run.watched().head.state == RunState::Ended);
            ended <= ENDED_MAX
        });
        Ok(id)
    }

    /// Asks every run to end and waits until all have.
    pub(super) async fn end(&self) {
        let going_on: Vec<Arc<Run>> = self.known().runs.iter().map(Arc::clone).collect();
        for run in going_on {
            run.ask_to_end();
            let ended = run.ended.notified();
            if run.head().state != RunState::Ended {
                ended.await;
            }
        }
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        // Of a folder in the place for temporary ones.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn across(target: &Target) -> String {
    match target {
        Target::Far { address, .. } => address.split('#').next().unwrap_or_default().to_owned(),
        Target::Lab { network, .. } => format!("lab {}", network.as_deref().unwrap_or_default()),
        Target::Sim { network, .. } => format!("sim {}", network.as_deref().unwrap_or_default()),
    }
}

/// A run that has been started.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Started {
    id: String,
}

/// Runs of this server, newest first.
#[utoipa::path(get, path = "/api/v1/runs", responses((status = 200, body = [Head])))]
pub(super) async fn list(State(house): State<House>) -> Json<Vec<Head>> {
    Json(house.runs.known().runs.iter().map(|run| run.head()).collect())
}

/// The command line of an order, and what it takes; where it cannot be carried out, why.
#[utoipa::path(post, path = "/api/v1/runs/check", request_body = Order,
    responses((status = 200, body = Checked), (status = 422, body = Refused)))]
pub(super) async fn check(
    State(house): State<House>,
    Json(mut order): Json<Order>,
) -> Result<Json<Checked>, Refusal> {
    house.runs.checked(&mut order, |_| Ok(String::from("network.yaml"))).map(Json)
}

/// Starts a run.
#[utoipa::path(post, path = "/api/v1/runs", request_body = Order,
    responses((status = 201, body = Started), (status = 409, body = Refused),
        (status = 422, body = Refused)))]
pub(super) async fn start(
    State(house): State<House>,
    Json(order): Json<Order>,
) -> Result<(StatusCode, Json<Started>), Refusal> {
    let id = house.runs.start(order)?;
    Ok((StatusCode::CREATED, Json(Started { id })))
}

/// What was seen of a run so far.
#[utoipa::path(get, path = "/api/v1/runs/{id}", params(("id" = String, Path)),
    responses((status = 200, body = RunView), (status = 404, body = Refused)))]
pub(super) async fn one(
    State(house): State<House>,
    Path(id): Path<String>,
) -> Result<Json<RunView>, Refusal> {
    Ok(Json(house.runs.find(&id)?.watched().view()))
}

/// Asks a run to end, as Ctrl-C does: what was measured so far is kept.
#[utoipa::path(delete, path = "/api/v1/runs/{id}", params(("id" = String, Path)),
    responses((status = 202), (status = 404, body = Refused)))]
pub(super) async fn stop(
    State(house): State<House>,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    house.runs.find(&id)?.ask_to_end();
    Ok(StatusCode::ACCEPTED)
}
