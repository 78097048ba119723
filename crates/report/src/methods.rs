//! The methods: what each is called in results, on the command line and by people.

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

    /// What people call it: on the screen, in documents and on pages.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Rfc6349 => "TCP throughput test (RFC 6349)",
            Self::Flow => "Traffic measurement",
            Self::Rfc2544 => "Benchmark (RFC 2544)",
            Self::Y1564 => "Service activation test (in the style of ITU-T Y.1564)",
            Self::Burst => "Burst test of a policer (CIR and CBS)",
            Self::Rfc7640 => "Traffic management test (RFC 7640)",
            Self::Stress => "Connection load test",
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
