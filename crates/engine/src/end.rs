//! The two ends of a session.

use fp_model::Direction;

/// Which end of the connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Near,
    Far,
}

impl End {
    /// Whether this end sends the flows of this direction.
    pub(crate) const fn sends(self, direction: Direction) -> bool {
        matches!(
            (self, direction),
            (Self::Near, Direction::Upload) | (Self::Far, Direction::Download)
        )
    }

    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}
