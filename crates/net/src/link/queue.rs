//! Frames that wait: classes of traffic, their limits, and who is served next.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use fp_model::{Dscp, Time};

use super::Parcel;
use super::codel::{CoDel, Head, Judgement};
use super::gate::{Gate, Instant};
use super::truth::Cause;
use crate::path::{Aqm, DrrClass, PrioritySpec, QueueLimit, QueueSpec};

/// A gate and the queue in front of it.
#[derive(Clone, Debug)]
pub(crate) struct Station<T> {
    gate: Gate,
    queue: Queue<T>,
    /// When the last frame left its queue. Behind a large frame that was dropped a small one may
    /// have had its tokens for long, but it was not at the head.
    last_start: Instant,
}

/// A frame that has left its queue.
#[derive(Debug)]
pub(crate) struct Departure<T> {
    pub(crate) at: Time,
    pub(crate) parcel: Parcel<T>,
    /// Dropped at the head of the queue instead of sent.
    pub(crate) dropped: Option<Cause>,
}

impl<T> Station<T> {
    pub(crate) fn new(gate: Gate, queue: QueueSpec, priority: Option<&PrioritySpec>) -> Self {
        Self { gate, queue: Queue::new(queue, priority), last_start: Instant::default() }
    }

    /// A frame joins the queue, unless that is full: then it comes back.
    ///
    /// Every departure up to `now` must have been taken before.
    pub(crate) fn offer(&mut self, now: Time, parcel: Parcel<T>) -> Result<(), Parcel<T>> {
        let passes_at_once = self.queue.is_empty()
            && self.gate.ready_at(parcel.tagged_bytes()) <= Instant::from(now);
        self.queue.push(now, parcel, if passes_at_once { Room::Made } else { Room::AsLimited })
    }

    /// The next frame that leaves its queue by `until`; on a line it may be out only later.
    pub(crate) fn depart(&mut self, until: Time) -> Option<Departure<T>> {
        let start = self.next_start()?;
        if start > Instant::from(until) {
            return None;
        }
        let (parcel, judgement) = self.queue.pop(start.ceil())?;
        self.last_start = start;
        Some(match judgement {
            Judgement::Drop => Departure { at: start.ceil(), parcel, dropped: Some(Cause::Aqm) },
            Judgement::Send => {
                let at = self.gate.pass(start, parcel.tagged_bytes()).ceil();
                Departure { at, parcel, dropped: None }
            }
        })
    }

    /// When the next frame will be out, as far as is known now: no frame is out earlier.
    pub(crate) fn next_out(&self) -> Option<Time> {
        let waiting = self.queue.peek()?;
        let frame_bytes = waiting.parcel.tagged_bytes();
        Some(self.gate.out_at(self.next_start()?, frame_bytes).ceil())
    }

    fn next_start(&self) -> Option<Instant> {
        let waiting = self.queue.peek()?;
        let ready = self.gate.ready_at(waiting.parcel.tagged_bytes());
        Some(ready.max(Instant::from(waiting.since)).max(self.last_start))
    }
}

/// Whether a queue's limit counts for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    AsLimited,
    /// The frame passes without waiting, so it needs no room.
    Made,
}

#[derive(Clone, Debug)]
struct Queue<T> {
    classes: Vec<Class<T>>,
    /// The class of each code point.
    class_of: [u8; 64],
    service: Service,
    /// The class to be served next, where there is any.
    next: Option<usize>,
}

#[derive(Clone, Debug)]
struct Class<T> {
    waiting: VecDeque<Waiting<T>>,
    waiting_bytes: u64,
    limit: QueueLimit,
    codel: Option<CoDel>,
}

#[derive(Clone, Debug)]
struct Waiting<T> {
    since: Time,
    parcel: Parcel<T>,
}

#[derive(Clone, Debug)]
enum Service {
    Strict,
    Drr(Drr),
}

impl<T> Queue<T> {
    fn new(spec: QueueSpec, priority: Option<&PrioritySpec>) -> Self {
        let (dscps, service): (Vec<&[Dscp]>, _) = match priority {
            None => (vec![&[]], Service::Strict),
            Some(PrioritySpec::Strict(classes)) => {
                (classes.iter().map(Vec::as_slice).collect(), Service::Strict)
            }
            Some(PrioritySpec::Drr(classes)) => {
                let dscps = classes.iter().map(|class| class.dscp.as_slice()).collect();
                (dscps, Service::Drr(Drr::new(classes)))
            }
        };
        let count = dscps.len();
        assert!((1..=64).contains(&count), "a queue has 1 to 64 classes");
        let mut class_of = [count as u8 - 1; 64];
        for (class, dscps) in dscps.iter().enumerate() {
            for dscp in *dscps {
                class_of[usize::from(dscp.code_point())] = class as u8;
            }
        }
        let classes = (0..count).map(|_| Class::new(spec)).collect();
        Self { classes, class_of, service, next: None }
    }

    fn is_empty(&self) -> bool {
        self.next.is_none()
    }

    fn peek(&self) -> Option<&Waiting<T>> {
        self.classes[self.next?].waiting.front()
    }

    fn push(&mut self, now: Time, parcel: Parcel<T>, room: Room) -> Result<(), Parcel<T>> {
        let class = usize::from(self.class_of[usize::from(parcel.frame.dscp.code_point())]);
        self.classes[class].push(now, parcel, room)?;
        match self.service {
            Service::Strict => self.next = Some(self.next.map_or(class, |next| next.min(class))),
            Service::Drr(_) if self.next.is_none() => self.choose(),
            Service::Drr(_) => {}
        }
        Ok(())
    }

    fn pop(&mut self, now: Time) -> Option<(Parcel<T>, Judgement)> {
        let class = self.next?;
        let (parcel, judgement) = self.classes[class].pop(now)?;
        if let (Service::Drr(drr), Judgement::Send) = (&mut self.service, judgement) {
            drr.charge(class, parcel.tagged_bytes());
        }
        self.choose();
        Some((parcel, judgement))
    }

    fn choose(&mut self) {
        let classes = &self.classes;
        let head_bytes = |class: usize| classes[class].head_bytes();
        self.next = match &mut self.service {
            Service::Strict => (0..classes.len()).find(|class| head_bytes(*class).is_some()),
            Service::Drr(drr) => drr.choose(head_bytes),
        };
    }
}

impl<T> Class<T> {
    fn new(spec: QueueSpec) -> Self {
        let codel = match spec.aqm {
            Aqm::Fifo => None,
            Aqm::CoDel { target, interval } => Some(CoDel::new(target, interval)),
        };
        Self { waiting: VecDeque::new(), waiting_bytes: 0, limit: spec.limit, codel }
    }

    fn head_bytes(&self) -> Option<u32> {
        self.waiting.front().map(|waiting| waiting.parcel.tagged_bytes())
    }

    fn push(&mut self, now: Time, parcel: Parcel<T>, room: Room) -> Result<(), Parcel<T>> {
        let frame_bytes = u64::from(parcel.tagged_bytes());
        let fits = match self.limit {
            QueueLimit::Bytes(limit) => self.waiting_bytes + frame_bytes <= limit,
            QueueLimit::Packets(limit) => (self.waiting.len() as u64) < limit,
        };
        if room == Room::AsLimited && !fits {
            return Err(parcel);
        }
        self.waiting_bytes += frame_bytes;
        self.waiting.push_back(Waiting { since: now, parcel });
        Ok(())
    }

    fn pop(&mut self, now: Time) -> Option<(Parcel<T>, Judgement)> {
        let Waiting { since, parcel } = self.waiting.pop_front()?;
        let frame_bytes = parcel.tagged_bytes();
        self.waiting_bytes -= u64::from(frame_bytes);
        let behind_bytes = self.waiting_bytes;
        let judgement = match &mut self.codel {
            None => Judgement::Send,
            Some(codel) => {
                codel.judge(now, Head { frame_bytes, waited: now.since(since), behind_bytes })
            }
        };
        Some((parcel, judgement))
    }
}

/// Deficit round robin, Shreedhar and Varghese 1995.
#[derive(Clone, Debug)]
struct Drr {
    quantum_bytes: Vec<u32>,
    deficit_bytes: Vec<u64>,
    /// The class whose turn it is.
    turn: usize,
}

impl Drr {
    fn new(classes: &[DrrClass]) -> Self {
        let quantum_bytes: Vec<u32> = classes.iter().map(|class| class.quantum_bytes).collect();
        assert!(
            quantum_bytes.iter().all(|quantum| *quantum > 0),
            "a class without a quantum starves"
        );
        let turn = classes.len() - 1;
        Self { deficit_bytes: vec![0; classes.len()], quantum_bytes, turn }
    }

    /// The class that may send its head: the one whose turn it is while its deficit lasts, else
    /// the next that has something to send and, given its quantum, enough to send it.
    fn choose(&mut self, head_bytes: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        let count = self.quantum_bytes.len();
        if (0..count).all(|class| head_bytes(class).is_none()) {
            self.deficit_bytes.fill(0);
            return None;
        }
        loop {
            match head_bytes(self.turn) {
                Some(bytes) if u64::from(bytes) <= self.deficit_bytes[self.turn] => {
                    return Some(self.turn);
                }
                Some(_) => {}
                // An empty class saves nothing for later.
                None => self.deficit_bytes[self.turn] = 0,
            }
            self.turn = (self.turn + 1) % count;
            if head_bytes(self.turn).is_some() {
                self.deficit_bytes[self.turn] += u64::from(self.quantum_bytes[self.turn]);
            }
        }
    }

    fn charge(&mut self, class: usize, frame_bytes: u32) {
        self.deficit_bytes[class] -= u64::from(frame_bytes);
    }
}
