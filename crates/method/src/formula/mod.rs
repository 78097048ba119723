//! The arithmetic of the standards: formulas that know of no trial.

pub(crate) mod amount;
pub mod back_to_back;
pub mod bdp;
pub(crate) mod bounds;
pub mod capacity;
pub(crate) mod conservation;
pub mod delay_variation;
pub mod ethernet;
pub mod load;
pub mod mbm;
pub mod metrics;
pub(crate) mod number;
pub mod profile;
pub mod rpm;
pub(crate) mod seconds;
pub mod stamp;
pub mod tcp_rules;
