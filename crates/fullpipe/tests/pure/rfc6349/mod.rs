//! The RFC 6349 test as its user runs it: simulated, and judged again from a result.

mod clauses;
mod ideals;
mod known;
mod replay;
mod sim;
mod sold;
mod standstill;
