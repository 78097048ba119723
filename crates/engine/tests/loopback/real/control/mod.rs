//! Near and far end over loopback: the trials they run for each other, and all that may go wrong.

mod broken;
pub(crate) mod far_end;
mod flows;
mod strangers;
mod trials;
