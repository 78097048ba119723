//! AF_XDP sockets: frames in memory that is shared with the kernel, passed to and fro by rings.
#![expect(unsafe_code, reason = "the rings are memory shared with the kernel")]

use std::io;
use std::marker::PhantomData;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, c_void, socklen_t, xdp_desc, xdp_mmap_offsets, xdp_ring_offset};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::mapping::Mapping;

/// A socket on one queue of an interface.
#[derive(Debug)]
pub(crate) struct XdpSocket {
    socket: OwnedFd,
    chunks: Mapping,
    chunk_bytes: usize,
    max_frame_bytes: usize,
    /// Chunks that the kernel may put frames into.
    fill: Producer<u64>,
    received: Consumer<xdp_desc>,
    to_send: Producer<xdp_desc>,
    /// Chunks whose frames have been sent.
    completion: Consumer<u64>,
    /// Chunks that nothing is sent from.
    idle: Vec<u64>,
}

/// How many frames may wait to be received until they are lost.
const RECEIVE_SLOTS: u32 = 4096;
/// How many frames may wait to be sent.
const SEND_SLOTS: u32 = 1024;
/// What the kernel keeps free in a chunk before a received frame.
const HEADROOM_BYTES: usize = 256;

impl XdpSocket {
    /// The longest frame that fits into a chunk, which is a page at most.
    pub(crate) const MAX_FRAME_BYTES: usize = 4096 - HEADROOM_BYTES;

    /// It receives nothing before a program hands it frames.
    ///
    /// # Errors
    /// `EBUSY` where the queue has such a socket, or had one a moment ago.
    pub(crate) fn open(
        interface_index: i32,
        queue: u32,
        max_frame_bytes: usize,
    ) -> io::Result<Self> {
        let socket = new_socket()?;
        let chunk_bytes = (max_frame_bytes + HEADROOM_BYTES).next_power_of_two().max(2048);
        let chunks = Mapping::fresh(chunk_bytes * (RECEIVE_SLOTS + SEND_SLOTS) as usize)?;
        // SAFETY: an all-zero registration is valid: it registers nothing.
        let mut registration: libc::xdp_umem_reg = unsafe { zeroed() };
        registration.addr = chunks.at(0, 0).as_ptr() as u64;
        registration.len = chunks.len_bytes() as u64;
        registration.chunk_size = chunk_bytes as u32;
        set(&socket, libc::XDP_UMEM_REG, &registration)?;
        set(&socket, libc::XDP_UMEM_FILL_RING, &RECEIVE_SLOTS)?;
        set(&socket, libc::XDP_UMEM_COMPLETION_RING, &SEND_SLOTS)?;
        set(&socket, libc::XDP_RX_RING, &RECEIVE_SLOTS)?;
        set(&socket, libc::XDP_TX_RING, &SEND_SLOTS)?;
        send_more_at_once(&socket);

        let at = offsets(&socket)?;
        let (fill, completion) =
            (libc::XDP_UMEM_PGOFF_FILL_RING, libc::XDP_UMEM_PGOFF_COMPLETION_RING);
        let (receive, transmit) = (libc::XDP_PGOFF_RX_RING as u64, libc::XDP_PGOFF_TX_RING as u64);
        let mut opened = Self {
            fill: Producer(Ring::new(&socket, fill, &at.fr, RECEIVE_SLOTS)?),
            received: Consumer(Ring::new(&socket, receive, &at.rx, RECEIVE_SLOTS)?),
            to_send: Producer(Ring::new(&socket, transmit, &at.tx, SEND_SLOTS)?),
            completion: Consumer(Ring::new(&socket, completion, &at.cr, SEND_SLOTS)?),
            idle: (RECEIVE_SLOTS..RECEIVE_SLOTS + SEND_SLOTS)
                .map(|chunk| u64::from(chunk) * chunk_bytes as u64)
                .collect(),
            socket,
            chunks,
            chunk_bytes,
            max_frame_bytes,
        };
        for chunk in 0..RECEIVE_SLOTS {
            opened.fill.write(chunk, u64::from(chunk) * chunk_bytes as u64);
        }
        opened.fill.submit(RECEIVE_SLOTS);
        bind(&opened.socket, interface_index, queue)?;
        Ok(opened)
    }

    /// Whether the driver moves frames to and from this memory without copying them.
    pub(crate) fn is_zero_copy(&self) -> io::Result<bool> {
        let mut options = libc::xdp_options { flags: 0 };
        get(&self.socket, libc::XDP_OPTIONS, &mut options)?;
        Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Shows the next frames to `on_frame`, at most so many, and returns how many those were.
    pub(crate) fn receive(&mut self, most: u32, mut on_frame: impl FnMut(&[u8])) -> usize {
        let count = self.received.available().min(most).min(self.fill.room());
        for place in 0..count {
            let frame = self.received.read(place);
            on_frame(self.frame(frame.addr, frame.len));
            self.fill.write(place, frame.addr & !(self.chunk_bytes as u64 - 1));
        }
        if count > 0 {
            self.received.release(count);
            self.fill.submit(count);
            if self.fill.0.has_to_be_woken() {
                self.wake_receiving();
            }
        }
        count as usize
    }

    /// Takes frames as long as there is room for them, has them sent and returns how many it took.
    ///
    /// # Errors
    /// `EMSGSIZE` where the first one is too long, and those of the interface.
    pub(crate) fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        self.collect_sent();
        let room = self.to_send.room().min(self.idle.len() as u32);
        let (mut count, mut is_too_long) = (0, false);
        for (place, frame) in (0..room).zip(frames) {
            if frame.len() > self.max_frame_bytes {
                is_too_long = true;
                break;
            }
            let Some(chunk) = self.idle.pop() else { break };
            self.chunk_mut(chunk)[..frame.len()].copy_from_slice(frame);
            let len = frame.len() as u32;
            self.to_send.write(place, xdp_desc { addr: chunk, len, options: 0 });
            count += 1;
        }
        self.to_send.submit(count);
        self.push()?;
        if count == 0 && is_too_long {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        Ok(count as usize)
    }

    /// Has the kernel send what it has been given and not sent yet.
    pub(crate) fn push(&mut self) -> io::Result<()> {
        let mut before = self.to_send.pending();
        while before > 0 && self.to_send.0.has_to_be_woken() {
            match send(&self.socket, &[], SendFlags::DONTWAIT) {
                // It sends some at a time, or its queue is full.
                Ok(_) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let after = self.to_send.pending();
            if after == before {
                break;
            }
            before = after;
        }
        Ok(())
    }

    /// Frames for this socket that were lost because there was no room for them.
    pub(crate) fn overruns(&self) -> io::Result<u64> {
        // SAFETY: all fields are plain counters.
        let mut statistics: libc::xdp_statistics = unsafe { zeroed() };
        get(&self.socket, libc::XDP_STATISTICS, &mut statistics)?;
        Ok(statistics.rx_dropped + statistics.rx_ring_full)
    }

    fn collect_sent(&mut self) {
        let count = self.completion.available();
        for place in 0..count {
            self.idle.push(self.completion.read(place));
        }
        self.completion.release(count);
    }

    fn wake_receiving(&self) {
        // SAFETY: a receive without a buffer writes nothing. What it returns says nothing either.
        unsafe {
            let (socket, flags) = (self.socket.as_raw_fd(), libc::MSG_DONTWAIT);
            libc::recvfrom(socket, null_mut(), 0, flags, null_mut(), null_mut());
        }
    }

    fn frame(&self, at: u64, len: u32) -> &[u8] {
        let (at, len) = (at as usize, len as usize);
        // SAFETY: the bytes are inside the chunks, as `at` makes sure; the kernel has given them to
        // us and writes there no more before they are filled in again.
        unsafe { std::slice::from_raw_parts(self.chunks.at(at, len).as_ptr(), len) }
    }

    fn chunk_mut(&mut self, at: u64) -> &mut [u8] {
        let len = self.chunk_bytes;
        // SAFETY: as above; of an idle chunk the kernel knows nothing.
        unsafe { std::slice::from_raw_parts_mut(self.chunks.at(at as usize, len).as_ptr(), len) }
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A ring that we put into and the kernel takes out of.
#[derive(Debug)]
struct Producer<T>(Ring<T>);

impl<T: Copy> Producer<T> {
    fn room(&self) -> u32 {
        self.0.slots - self.pending()
    }

    /// What the kernel has not taken out yet.
    fn pending(&self) -> u32 {
        self.0.next.wrapping_sub(self.0.consumer().load(Ordering::Acquire))
    }

    /// The kernel sees it when it is submitted. `place` counts from what has been, inside the room.
    fn write(&mut self, place: u32, value: T) {
        let slot = self.0.slot(place);
        // SAFETY: the slot is inside the ring and aligned, and ours: the kernel has taken out what
        // was there.
        unsafe { slot.write(value) };
    }

    fn submit(&mut self, count: u32) {
        self.0.next = self.0.next.wrapping_add(count);
        self.0.producer().store(self.0.next, Ordering::Release);
    }
}

/// A ring that the kernel puts into and we take out of.
#[derive(Debug)]
struct Consumer<T>(Ring<T>);

impl<T: Copy> Consumer<T> {
    fn available(&self) -> u32 {
        self.0.producer().load(Ordering::Acquire).wrapping_sub(self.0.next)
    }

    /// `place` counts from what has been released, inside what is available.
    fn read(&self, place: u32) -> T {
        let slot = self.0.slot(place);
        // SAFETY: the slot is inside the ring and aligned, and ours: the kernel has put a value there
        // and writes another one after its release only.
        unsafe { slot.read() }
    }

    fn release(&mut self, count: u32) {
        self.0.next = self.0.next.wrapping_add(count);
        self.0.consumer().store(self.0.next, Ordering::Release);
    }
}

/// Slots for values, and how far each side has got, modulo 2^32.
#[derive(Debug)]
struct Ring<T> {
    memory: Mapping,
    producer_at: usize,
    consumer_at: usize,
    flags_at: usize,
    slots_at: usize,
    slots: u32,
    /// How far we have got.
    next: u32,
    values: PhantomData<T>,
}

impl<T> Ring<T> {
    fn new(socket: &OwnedFd, offset: u64, at: &xdp_ring_offset, slots: u32) -> io::Result<Self> {
        assert!(slots.is_power_of_two(), "a slot's place is a position's last bits");
        let bytes = at.desc as usize + slots as usize * size_of::<T>();
        Ok(Self {
            memory: Mapping::of(socket.as_fd(), offset, bytes)?,
            producer_at: at.producer as usize,
            consumer_at: at.consumer as usize,
            flags_at: at.flags as usize,
            slots_at: at.desc as usize,
            slots,
            next: 0,
            values: PhantomData,
        })
    }

    fn producer(&self) -> &AtomicU32 {
        self.word(self.producer_at)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.word(self.consumer_at)
    }

    /// Whether the kernel looks at the ring only when it is told to.
    fn has_to_be_woken(&self) -> bool {
        self.word(self.flags_at).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        let word = self.memory.at(at, size_of::<u32>());
        // SAFETY: both sides access the word atomically; the kernel aligns it.
        unsafe { AtomicU32::from_ptr(word.cast().as_ptr()) }
    }

    fn slot(&self, place: u32) -> NonNull<T> {
        let place = self.next.wrapping_add(place) & (self.slots - 1);
        self.memory.at(self.slots_at + place as usize * size_of::<T>(), size_of::<T>()).cast()
    }
}

/// Whether there are such sockets, and for this process.
pub(crate) fn may_open() -> io::Result<()> {
    new_socket().map(drop)
}

fn new_socket() -> io::Result<OwnedFd> {
    // SAFETY: takes no pointer.
    let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Without copying where the driver can.
fn bind(socket: &OwnedFd, interface_index: i32, queue: u32) -> io::Result<()> {
    // SAFETY: an all-zero address is valid.
    let mut address: libc::sockaddr_xdp = unsafe { zeroed() };
    address.sxdp_family = libc::AF_XDP as u16;
    address.sxdp_flags = libc::XDP_USE_NEED_WAKEUP;
    address.sxdp_ifindex = interface_index as u32;
    address.sxdp_queue_id = queue;
    let len = size_of_val(&address) as socklen_t;
    // SAFETY: the address lives through the call and has this length.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })
}

/// A call sends 32 frames unless it is told otherwise.
fn send_more_at_once(socket: &OwnedFd) {
    const MAX_TX_SKB_BUDGET: c_int = 9;
    const FRAMES: c_int = 256;
    // Older kernels than Linux 6.17 do not know it: there it takes more calls.
    let _ = set(socket, MAX_TX_SKB_BUDGET, &FRAMES);
}

fn offsets(socket: &OwnedFd) -> io::Result<xdp_mmap_offsets> {
    // SAFETY: all fields are plain numbers.
    let mut offsets: xdp_mmap_offsets = unsafe { zeroed() };
    get(socket, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
    Ok(offsets)
}

fn set<T>(socket: &OwnedFd, option: c_int, value: &T) -> io::Result<()> {
    let (value, len) = (std::ptr::from_ref(value).cast::<c_void>(), size_of::<T>() as socklen_t);
    // SAFETY: the kernel reads no more than the value's own bytes.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_XDP, option, value, len) })
}

/// Into a value of plain numbers.
fn get<T>(socket: &OwnedFd, option: c_int, value: &mut T) -> io::Result<()> {
    let (value, mut len) =
        (std::ptr::from_mut(value).cast::<c_void>(), size_of::<T>() as socklen_t);
    // SAFETY: the kernel writes at most `len` bytes of a value that lives through the call.
    checked(unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_XDP, option, value, &raw mut len)
    })
}

fn checked(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
