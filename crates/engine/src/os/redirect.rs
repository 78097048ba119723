//! The XDP program that hands a port's frames to its sockets and leaves the others to the host.
//!
//! It is attached by a link that ends with its descriptor: a process that is killed leaves nothing
//! behind. No compiler and no library has a part in it.
#![expect(unsafe_code, reason = "bpf is a raw system call")]

use std::ffi::CStr;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use libc::{c_int, c_long};

use super::frame_filter::{FrameFilter, Part, Passes, Rule, Verdict, Width};

/// A program on an interface, with the table of the sockets that it hands frames to, one for each
/// receive queue. Frames of a queue without socket stay the host's.
#[derive(Debug)]
pub(crate) struct Redirect {
    sockets: OwnedFd,
    /// The program is attached as long as this is open.
    _link: OwnedFd,
}

/// What was asked of the kernel, and refused.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) what: Step,
    pub(crate) error: io::Error,
    /// What the kernel's verifier had to say at last.
    pub(crate) verifier: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    MakeTable,
    LoadProgram,
    Attach,
}

impl Redirect {
    pub(crate) fn attach(
        interface_index: i32,
        filter: &FrameFilter,
        queues: u32,
    ) -> Result<Self, Refused> {
        let refused = |what| move |error| Refused { what, error, verifier: None };
        let sockets = socket_table(queues).map_err(refused(Step::MakeTable))?;
        let steps = program(filter.rules(), &sockets);
        let program = load(&steps).map_err(|error| Refused {
            what: Step::LoadProgram,
            verifier: why_not(&steps),
            error,
        })?;
        let link = attach(&program, interface_index).map_err(refused(Step::Attach))?;
        Ok(Self { sockets, _link: link })
    }

    /// Has the frames of a receive queue handed to a socket that is bound to it.
    pub(crate) fn hand_over(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        const MAP_UPDATE_ELEM: c_long = 2;
        let socket = socket.as_raw_fd();
        let mut request = MapElement {
            map: self.sockets.as_raw_fd(),
            key: (&raw const queue) as u64,
            value: (&raw const socket) as u64,
            ..MapElement::default()
        };
        // SAFETY: key and value are four bytes each, as the table was made for; the kernel only
        // reads them.
        unsafe { bpf(MAP_UPDATE_ELEM, &mut request) }.map(drop)
    }
}

fn socket_table(queues: u32) -> io::Result<OwnedFd> {
    const MAP_CREATE: c_long = 0;
    const XSKMAP: u32 = 17;
    let mut request = NewMap { kind: XSKMAP, key_bytes: 4, value_bytes: 4, entries: queues };
    // SAFETY: the request has no pointer in it, and its answer is a new descriptor.
    unsafe { new_descriptor(MAP_CREATE, &mut request) }
}

fn load(steps: &[Instruction]) -> io::Result<OwnedFd> {
    load_with_log(steps, &mut [])
}

/// The last line of what the verifier says against a program.
fn why_not(steps: &[Instruction]) -> Option<String> {
    let mut log = vec![0; 1 << 16];
    // Who asks has had the error already.
    let _ = load_with_log(steps, &mut log);
    let text = CStr::from_bytes_until_nul(&log).ok()?.to_string_lossy();
    let objection = text.lines().rev().find(|line| !line.starts_with("processed"))?;
    Some(objection.to_owned())
}

fn load_with_log(steps: &[Instruction], log: &mut [u8]) -> io::Result<OwnedFd> {
    const PROG_LOAD: c_long = 5;
    const XDP: u32 = 6;
    const LICENSE: &CStr = c"Apache-2.0";
    let mut request = NewProgram {
        kind: XDP,
        steps: steps.len() as u32,
        first_step: steps.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log_level: u32::from(!log.is_empty()),
        log_bytes: log.len() as u32,
        log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
    };
    // SAFETY: steps, license and log live through the call, with the lengths told; the kernel writes
    // to the log alone, and its answer is a new descriptor.
    unsafe { new_descriptor(PROG_LOAD, &mut request) }
}

/// In the driver where it can, in front of the host's stack where it cannot.
fn attach(program: &OwnedFd, interface_index: i32) -> io::Result<OwnedFd> {
    const LINK_CREATE: c_long = 28;
    const XDP: u32 = 37;
    const BEFORE_THE_STACK: u32 = 1 << 1;
    const IN_THE_DRIVER: u32 = 1 << 2;
    let link = |flags| {
        let mut request =
            NewLink { program: program.as_raw_fd(), interface: interface_index, kind: XDP, flags };
        // SAFETY: the request has no pointer in it, and its answer is a new descriptor.
        unsafe { new_descriptor(LINK_CREATE, &mut request) }
    };
    match link(IN_THE_DRIVER) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => link(BEFORE_THE_STACK),
        other => other,
    }
}

/// The members of `union bpf_attr` for each command, as far as they are used: what follows counts as
/// zero.
#[repr(C)]
struct NewMap {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
}

#[repr(C)]
#[derive(Default)]
struct MapElement {
    map: c_int,
    _padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct NewProgram {
    kind: u32,
    steps: u32,
    first_step: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
}

#[repr(C)]
struct NewLink {
    program: c_int,
    interface: c_int,
    kind: u32,
    flags: u32,
}

/// # Safety
/// As of [`bpf`], for a command whose answer is a descriptor.
unsafe fn new_descriptor<T>(command: c_long, request: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: the caller keeps what `bpf` asks of its caller.
    let descriptor = unsafe { bpf(command, request) }?;
    // SAFETY: the descriptor is new and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// # Safety
/// `T` is the command's part of `union bpf_attr`, and every address in it holds what the command
/// reads or writes there.
unsafe fn bpf<T>(command: c_long, request: &mut T) -> io::Result<c_int> {
    let (request, bytes) = (std::ptr::from_mut(request), size_of::<T>());
    // SAFETY: the request lives through the call and has this length; the rest is the caller's.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, request, bytes) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as c_int) }
}

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// Calls overwrite all but the last three and hand over the first after it, which has results.
#[derive(Clone, Copy)]
enum Register {
    Result = 0,
    First = 1,
    Second = 2,
    Third = 3,
    Context = 6,
    Frame = 7,
    FrameEnd = 8,
}

use Register::{Context, First, Frame, FrameEnd, Result as Answer, Second, Third};

impl Instruction {
    const fn new(code: u32, to: Register, from: Register, offset: i16, immediate: i32) -> Self {
        let (to, from) = (to as u8, from as u8);
        let registers =
            if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
        Self { code: code as u8, registers, offset, immediate }
    }

    /// Reads a number of the host's from memory.
    const fn load(width: Width, to: Register, from: Register, offset: i16) -> Self {
        let width = match width {
            Width::Byte => libc::BPF_B,
            Width::Half => libc::BPF_H,
            Width::Word => libc::BPF_W,
        };
        Self::new(libc::BPF_LDX | width | libc::BPF_MEM, to, from, offset, 0)
    }

    const fn copy(to: Register, from: Register) -> Self {
        Self::new(ALU64 | MOV | libc::BPF_X, to, from, 0, 0)
    }

    const fn set(to: Register, value: i32) -> Self {
        Self::new(ALU64 | MOV | libc::BPF_K, to, Answer, 0, value)
    }

    const fn add(to: Register, value: i32) -> Self {
        Self::new(ALU64 | libc::BPF_ADD | libc::BPF_K, to, Answer, 0, value)
    }

    /// Of the lower 32 bits.
    const fn and(to: Register, mask: u32) -> Self {
        Self::new(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, to, Answer, 0, mask as i32)
    }

    /// Of the lower 32 bits.
    const fn remainder(to: Register, divisor: u32) -> Self {
        Self::new(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, to, Answer, 0, divisor as i32)
    }

    /// Of the lower 32 bits.
    const fn less(to: Register, value: u32) -> Self {
        Self::new(libc::BPF_ALU | libc::BPF_SUB | libc::BPF_K, to, Answer, 0, value as i32)
    }

    /// From the network's order of bytes to the host's.
    const fn to_host(to: Register, bits: i32) -> Self {
        const END: u32 = 0xd0;
        const BIG_ENDIAN: u32 = 0x08;
        Self::new(libc::BPF_ALU | END | BIG_ENDIAN, to, Answer, 0, bits)
    }

    const fn jump_if_greater(left: Register, right: Register, over: i16) -> Self {
        Self::new(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_X, left, right, over, 0)
    }

    /// Compares the lower 32 bits.
    const fn jump_if_beyond(left: Register, most: u32, over: i16) -> Self {
        Self::new(JUMP_32 | libc::BPF_JGT | libc::BPF_K, left, Answer, over, most as i32)
    }

    /// Compares the lower 32 bits.
    const fn jump_unless(left: Register, equals: u32, over: i16) -> Self {
        const NOT_EQUAL: u32 = 0x50;
        Self::new(JUMP_32 | NOT_EQUAL | libc::BPF_K, left, Answer, over, equals as i32)
    }

    const fn call(function: i32) -> Self {
        const CALL: u32 = 0x80;
        Self::new(libc::BPF_JMP | CALL, Answer, Answer, 0, function)
    }

    const fn exit() -> Self {
        const EXIT: u32 = 0x90;
        Self::new(libc::BPF_JMP | EXIT, Answer, Answer, 0, 0)
    }
}

const ALU64: u32 = 0x07;
const JUMP_32: u32 = 0x06;
const MOV: u32 = 0xb0;
const XDP_PASS: i32 = 2;

/// Takes what the rules take.
fn program(rules: &[Rule], sockets: &OwnedFd) -> Vec<Instruction> {
    // struct xdp_md: data, data_end, data_meta, ingress_ifindex, rx_queue_index.
    const DATA: i16 = 0;
    const DATA_END: i16 = 4;
    let mut steps = vec![
        Instruction::copy(Context, First),
        Instruction::load(Width::Word, Frame, Context, DATA),
        Instruction::load(Width::Word, FrameEnd, Context, DATA_END),
    ];
    let taking = taking(sockets.as_fd());
    for rule in rules {
        let end = match rule.verdict {
            Verdict::Take => &taking[..],
            Verdict::Leave => &LEAVING,
        };
        steps.extend(conjunction(rule, end.len()));
        steps.extend(end);
    }
    steps.extend(LEAVING);
    steps
}

const LEAVING: [Instruction; 2] = [Instruction::set(Answer, XDP_PASS), Instruction::exit()];

/// Hands the frame to the socket of its queue, or to the host where there is none.
fn taking(sockets: BorrowedFd<'_>) -> [Instruction; 6] {
    const QUEUE: i16 = 16;
    const REDIRECT_MAP: i32 = 51;
    let [first, second] = map(First, sockets);
    [
        first,
        second,
        Instruction::load(Width::Word, Second, Context, QUEUE),
        Instruction::set(Third, XDP_PASS),
        Instruction::call(REDIRECT_MAP),
        Instruction::exit(),
    ]
}

/// The address of a map, which the kernel puts in the place of its descriptor.
fn map(to: Register, map: BorrowedFd<'_>) -> [Instruction; 2] {
    const DOUBLE_WORD: u32 = 0x18;
    // BPF_PSEUDO_MAP_FD stands where a source register would.
    let first =
        Instruction::new(libc::BPF_LD | DOUBLE_WORD | libc::BPF_IMM, to, First, 0, map.as_raw_fd());
    [first, Instruction { code: 0, registers: 0, offset: 0, immediate: 0 }]
}

/// Goes over `end_steps` steps where a test is not passed or the frame is too short for it.
fn conjunction(rule: &Rule, end_steps: usize) -> Vec<Instruction> {
    let mut backwards = Vec::new();
    for test in rule.tests.iter().rev() {
        let over = (backwards.len() + end_steps) as i16;
        backwards.push(match test.passes {
            Passes::Equal(value) => Instruction::jump_unless(Answer, value, over),
            Passes::UpTo(most) => Instruction::jump_if_beyond(Answer, most, over),
        });
        backwards.push(match test.part {
            Part::Masked(mask) => Instruction::and(Answer, mask),
            Part::RemainderOf(divisor) => Instruction::remainder(Answer, divisor),
            Part::Beyond(least) => Instruction::less(Answer, least),
        });
        backwards.extend(match test.width {
            Width::Byte => None,
            Width::Half => Some(Instruction::to_host(Answer, 16)),
            Width::Word => Some(Instruction::to_host(Answer, 32)),
        });
        backwards.push(Instruction::load(test.width, Answer, Frame, test.at as i16));
    }
    let needed = rule.tests.iter().map(|test| test.at + test.width.bytes()).max().unwrap_or(0);
    let over = (backwards.len() + end_steps) as i16;
    backwards.push(Instruction::jump_if_greater(Second, FrameEnd, over));
    backwards.push(Instruction::add(Second, needed as i32));
    backwards.push(Instruction::copy(Second, Frame));
    backwards.reverse();
    backwards
}
