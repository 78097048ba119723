//! The methods under judgement.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Method {
    /// RFC 6349.
    Test,
    /// What policer there is.
    Discover,
    /// Whether a known policer is as sold.
    Burst,
    /// Throughput of three frame lengths and that of the path MTU.
    Rfc2544,
    /// The policer.
    Rfc7640,
    /// One service, by itself and for a while.
    Y1564,
}

impl Method {
    pub(crate) const ALL: [Self; 6] =
        [Self::Test, Self::Discover, Self::Burst, Self::Rfc2544, Self::Rfc7640, Self::Y1564];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Discover => "discover",
            Self::Burst => "burst",
            Self::Rfc2544 => "rfc2544",
            Self::Rfc7640 => "rfc7640",
            Self::Y1564 => "y1564",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}
