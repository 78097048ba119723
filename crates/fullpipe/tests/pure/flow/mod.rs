//! Traffic as its user asks for it: simulated, and judged again.

mod bad_input;
mod replay;
mod sim;
