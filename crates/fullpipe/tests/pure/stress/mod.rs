//! Very many connections as their user asks for them: simulated, and judged again.

mod bad_input;
mod documents;
mod replay;
mod sim;
