//! What can be asked of a run across the lab on a host that is busy with other things.

use super::result::Finished;

impl Finished {
    /// Whether the host let the tester measure.
    pub(crate) fn is_valid(&self) -> bool {
        self.exit != 4
    }

    /// Whether the network passed, or the tester saw that the host disturbed it, and gave no verdict.
    pub(crate) fn is_passed_or_disturbed(&self) -> bool {
        [(0, "pass"), (4, "invalid")].contains(&(self.exit, self.status()))
    }

    pub(crate) fn expect_pass(&self) {
        assert!(self.is_passed_or_disturbed(), "{:#}\n{}", self.result["verdict"], self.stderr);
    }
}
