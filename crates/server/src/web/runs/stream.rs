//! Live events of a run: everything so far first, then whatever happens.

use std::convert::Infallible;

use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::super::House;
use super::super::refusal::{Refusal, Refused};
use super::view::News;
use super::{Arc, Run};

/// Server-sent events: `view` with everything so far, then `trial_started`, `sample`,
/// `trial_finished`, `line` and `ended`. Whoever falls far behind gets another `view`.
#[utoipa::path(get, path = "/api/v1/runs/{id}/events", params(("id" = String, Path)),
    responses((status = 200, content_type = "text/event-stream"), (status = 404, body = Refused)))]
pub(in super::super) async fn events(
    State(house): State<House>,
    Path(id): Path<String>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let run = house.runs.find(&id)?;
    let (first, news) = run.watch();
    let watcher = Watcher { run, first: Some(first), news };
    let events = stream::unfold(watcher, |mut watcher| async {
        let news = watcher.next().await?;
        Some((Ok(Event::default().event(news.event).data(news.data)), watcher))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

struct Watcher {
    run: Arc<Run>,
    first: Option<News>,
    news: Receiver<News>,
}

impl Watcher {
    async fn next(&mut self) -> Option<News> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        match self.news.recv().await {
            Ok(news) => Some(news),
            Err(RecvError::Lagged(_)) => {
                let (view, news) = self.run.watch();
                self.news = news;
                Some(view)
            }
            Err(RecvError::Closed) => None,
        }
    }
}
