//! Frames to send, in one flat buffer.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Room for so many frames of so many bytes. Nothing is allocated after the beginning.
#[derive(Debug)]
pub struct Outbox {
    bytes: Box<[u8]>,
    frame_bytes_max: usize,
    frames_max: usize,
    /// Where each frame ends.
    ends: Vec<usize>,
    /// So many of them have been sent.
    sent: usize,
}

impl Outbox {
    pub fn new(frames_max: usize, frame_bytes_max: usize) -> Self {
        Self {
            bytes: vec![0; frames_max * frame_bytes_max].into(),
            frame_bytes_max,
            frames_max,
            ends: Vec::with_capacity(frames_max),
            sent: 0,
        }
    }

    /// Those that have not been sent, in their order.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (self.sent..self.ends.len()).map(|place| &self.bytes[self.start(place)..self.ends[place]])
    }

    /// The same, one after the other and nothing between them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start(self.sent)..self.start(self.ends.len())]
    }

    pub fn len(&self) -> usize {
        self.ends.len() - self.sent
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// There is no room for another frame until all of these have been sent.
    pub fn is_full(&self) -> bool {
        self.ends.len() == self.frames_max
    }

    /// The first `frames` have been sent. When all have, there is room again for as many as at first.
    ///
    /// # Panics
    /// Where there are not so many.
    pub fn on_sent(&mut self, frames: usize) {
        assert!(frames <= self.len(), "{frames} of {} frames were sent", self.len());
        self.sent += frames;
        if self.sent == self.ends.len() {
            self.ends.clear();
            self.sent = 0;
        }
    }

    /// Adds a frame that `write` writes, giving its length; `false`: there is no room for any.
    pub fn push(&mut self, write: impl FnOnce(&mut [u8]) -> usize) -> bool {
        if self.is_full() {
            return false;
        }
        let start = self.start(self.ends.len());
        let frame_bytes = write(&mut self.bytes[start..start + self.frame_bytes_max]);
        self.ends.push(start + frame_bytes);
        true
    }

    fn start(&self, place: usize) -> usize {
        place.checked_sub(1).map_or(0, |before| self.ends[before])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_leave_in_their_order_and_make_room_when_all_have_left() {
        let mut outbox = Outbox::new(3, 8);
        for length in [8, 1, 5] {
            assert!(outbox.push(|frame| {
                frame[..length].fill(length as u8);
                length
            }));
        }
        assert!(outbox.is_full() && !outbox.push(|_| 0));
        outbox.on_sent(1);
        assert_eq!(outbox.frames().collect::<Vec<_>>(), [&[1][..], &[5; 5]]);
        assert_eq!(outbox.bytes(), [1, 5, 5, 5, 5, 5]);
        assert!(outbox.is_full());
        outbox.on_sent(2);
        assert!(outbox.is_empty() && outbox.push(|_| 8));
    }
}
