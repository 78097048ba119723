//! The methods: what each is called in documents and on the command line.

/// A method of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Rfc6349,
    Flow,
    Rfc2544,
    Y1564,
    Burst,
    Rfc7640,
    Stress,
}

impl Method {
    pub const ALL: [Self; 7] = [
        Self::Rfc6349,
        Self::Flow,
        Self::Rfc2544,
        Self::Y1564,
        Self::Burst,
        Self::Rfc7640,
        Self::Stress,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc6349 => "rfc6349",
            Self::Flow => "flow",
            Self::Rfc2544 => "rfc2544",
            Self::Y1564 => "y1564",
            Self::Burst => "burst",
            Self::Rfc7640 => "rfc7640",
            Self::Stress => "stress",
        }
    }

    /// The command that runs it.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Rfc6349 => "test",
            Self::Flow
            | Self::Rfc2544
            | Self::Y1564
            | Self::Burst
            | Self::Rfc7640
            | Self::Stress => self.name(),
        }
    }

    /// The method of this name in results.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The method that the command `command` runs.
    pub fn of_command(command: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.command() == command)
    }
}
