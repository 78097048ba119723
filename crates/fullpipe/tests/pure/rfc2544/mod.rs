//! The RFC 2544 tests as their user runs them: simulated, and judged again from a result.

mod bursts;
mod clauses;
mod known;
mod network;
mod recovery;
mod replay;
mod searches;
