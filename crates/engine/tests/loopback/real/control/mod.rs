//! Near and far end over loopback: the trials they run for each other, and how they end.

pub(crate) mod broken;
pub(crate) mod far_end;
mod flows;
mod trials;
