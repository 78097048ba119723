//! A shard of few connections, each of which is told of by itself.

use alloc::vec;

use fp_model::Time;

use super::Shard;
use crate::swarm::account::Account;
use crate::tcp::Algorithm;
use crate::tcp::connection::Sending;

impl Shard {
    /// Keeps an account of each connection from now on. Those that others take the stead of are told
    /// of together with these.
    pub fn keep_accounts(&mut self) {
        self.accounts = vec![Account::default(); self.places.len()];
    }

    /// Has this end send by another congestion control than CUBIC.
    pub const fn send_with(&mut self, algorithm: Algorithm) {
        self.terms.profile.algorithm = algorithm;
    }

    /// By the connections' numbers; none where none are kept.
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// The connections that have much to do now, by their numbers.
    pub fn sending(&self, now: Time) -> impl Iterator<Item = (u32, Sending)> {
        let places = (0..).zip(&self.places);
        places.filter_map(move |(index, place)| {
            let sending = place.connection.as_ref()?.sending(now)?;
            Some((self.number_of(index)?, sending))
        })
    }

    /// Where the account of this connection is, if one is kept.
    pub(super) fn account_place(&self, number: Option<u32>) -> Option<usize> {
        (number? as usize).checked_rem(self.accounts.len())
    }

    pub(super) fn account_of(&mut self, number: Option<u32>) -> Option<&mut Account> {
        let place = self.account_place(number)?;
        self.accounts.get_mut(place)
    }
}
