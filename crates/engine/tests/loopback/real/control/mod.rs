//! Near and far end over loopback: the trials they run for each other, and all that may go wrong.

mod broken;
mod far_end;
mod flows;
mod strangers;
mod trials;
