//! The ports on which a far end awaits the data of trials.

use std::fmt;
use std::ops::RangeInclusive;

/// Any port, or those of a range that a firewall lets through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPorts(RangeInclusive<u16>);

/// Why a range of ports cannot be served on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDataPorts {
    #[error("data ports are from 1 to 65535, the first one first")]
    NoRange,
    #[error(
        "a trial with a flow each way needs {LEAST} data ports, one for each flow; {given} is too \
         few: name a larger range"
    )]
    TooFew { given: usize },
}

/// A flow each way, or two sizes of probes at once.
const LEAST: usize = 2;
/// The kernel chooses where it is asked for this one.
const ANY: u16 = 0;

impl DataPorts {
    pub const ANY: Self = Self(ANY..=ANY);

    /// # Errors
    /// A sentence on what a trial needs.
    pub fn between(first: u16, last: u16) -> Result<Self, NotDataPorts> {
        let range = first..=last;
        if first == ANY || range.is_empty() {
            return Err(NotDataPorts::NoRange);
        }
        match range.len() {
            given @ ..LEAST => Err(NotDataPorts::TooFew { given }),
            LEAST.. => Ok(Self(range)),
        }
    }

    /// What `open` makes of the first port, in their order, that it can use; where it can use none,
    /// why not the last.
    pub(crate) fn first_free<T, E>(
        &self,
        mut open: impl FnMut(u16) -> Result<T, E>,
    ) -> Result<T, E> {
        let (first, last) = (*self.0.start(), *self.0.end());
        let mut opened = open(first);
        for port in first..last {
            if opened.is_ok() {
                break;
            }
            opened = open(port + 1);
        }
        opened
    }

    /// Without those that the flows of a trial need, if there are more.
    pub(crate) fn beyond_the_flows(&self) -> Option<Self> {
        if *self == Self::ANY {
            return Some(Self::ANY);
        }
        let first = self.0.clone().nth(LEAST)?;
        Some(Self(first..=*self.0.end()))
    }
}

impl fmt::Display for DataPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ANY {
            return f.write_str("any data port");
        }
        write!(f, "the data ports from {} to {}", self.0.start(), self.0.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ports_are_the_least_that_a_trial_needs() {
        assert_eq!(DataPorts::between(50_000, 50_000), Err(NotDataPorts::TooFew { given: 1 }));
        assert!(DataPorts::between(50_000, 50_001).is_ok());
        for (first, last) in [(0, 10), (20, 10)] {
            assert_eq!(DataPorts::between(first, last), Err(NotDataPorts::NoRange));
        }
    }

    #[test]
    fn the_first_port_that_can_be_used_is_taken() {
        let ports = DataPorts::between(65_533, 65_535).unwrap();
        let mut tried = Vec::new();
        let taken = ports.first_free(|port| {
            tried.push(port);
            if port == 65_534 { Ok(port) } else { Err(port) }
        });
        assert_eq!((taken, tried), (Ok(65_534), vec![65_533, 65_534]));
        assert_eq!(ports.first_free(Err::<(), u16>), Err(65_535));
    }

    #[test]
    fn what_is_beyond_the_flows_leaves_them_two_ports() {
        let beyond = |first, last| {
            DataPorts::between(first, last).unwrap().beyond_the_flows().map(|it| it.0)
        };
        assert_eq!(beyond(7, 8), None);
        assert_eq!(beyond(7, 9), Some(9..=9));
        assert_eq!(beyond(7, 20), Some(9..=20));
        assert_eq!(DataPorts::ANY.beyond_the_flows(), Some(DataPorts::ANY));
    }
}
