//! Very many TCP connections at once, without a socket or a clock: one shard for each processor.
//!
//! The client's end opens connections as the stages of its load ask, the server's end takes them. Both
//! compute the place of a connection from its addresses and ports, so that there is nothing to look
//! up; where a translator stands between, the server's end looks them up in a table.
//!
//! A [`Shard`] takes frames and gives frames. Whoever drives it does
//! ```text
//! each frame that arrived:  shard.on_frame(now, frame, &mut outbox)
//! then, or when it is due:  shard.poll(now, &mut outbox)
//! and sends what is in the outbox, until `shard.next_due(now)` or another frame.
//! ```
//! An outbox that is full loses nothing: the shard goes on when it is polled again.
//!
//! When 1000 attempts were made and none was answered for a second, a shard makes only 100 per
//! second until one is answered: a full table between the ends gains nothing from more attempts,
//! and a translator without a free port takes long over each of them.

mod account;
mod mix;
mod outbox;
mod place;
mod plan;
mod ramp;
mod report;
mod shard;
mod shares;
mod table;
mod tally;
mod wheel;

pub use account::{Account, RoundTripSum};
pub use mix::MixError;
pub use outbox::Outbox;
pub use plan::{AddressPlan, Pair, PlanError};
pub use report::{client_report, joined, report, sample};
pub use shard::{Role, Setting, SettingError, Shard, Stop};
pub use shares::{shares, shares_by_client_port};
pub use tally::{Counters, Tally};
