//! Known networks at length: what a quiet host shows.

mod burst;
mod rfc2544;
mod rfc6349;
mod rfc7640;
mod stress;
mod y1564;
