//! The few words of nf_tables that have a namespace translate: one table, one chain, one rule.

use std::io;
use std::ops::RangeInclusive;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

use super::netlink::{Message, NLM_F_ACK, NLM_F_CREATE, NLMSG_ERROR, array_at, terminated};

/// Has whatever the current thread's network namespace forwards come from the address of the
/// interface that it leaves by, and from one of these ports: masquerade, for IPv4 and IPv6.
///
/// # Errors
/// `EPROTONOSUPPORT`, `EOPNOTSUPP` or `ENOENT` where the kernel has no nf_tables or no translation
/// of addresses.
pub(crate) fn masquerade(ports: &RangeInclusive<u16>) -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    let protocol = Some(netlink::NETFILTER);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    let changes = [table(), chain(), rule(ports)];
    let asked = changes.len();
    let mut request = batch(NFNL_MSG_BATCH_BEGIN).finished();
    request.extend(changes.into_iter().flat_map(Message::finished));
    request.extend(batch(NFNL_MSG_BATCH_END).finished());
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&socket, &request, SendFlags::empty(), &kernel)?;
    // The kernel has done all of it, or nothing, before it lets go of the sender.
    let mut done = 0;
    let mut reply = vec![0; 32_768];
    loop {
        match recv(&socket, &mut reply[..], RecvFlags::DONTWAIT) {
            Ok((len, _)) => done += successes(&reply[..len])?,
            Err(Errno::AGAIN) if done == asked => return Ok(()),
            Err(Errno::AGAIN) => return Err(io::Error::other("the kernel left out an answer")),
            Err(error) => return Err(error.into()),
        }
    }
}

/// How many changes the kernel says it has made.
fn successes(reply: &[u8]) -> io::Result<usize> {
    let (mut at, mut done) = (0, 0);
    while at < reply.len() {
        let len = u32::from_ne_bytes(array_at(reply, at)?) as usize;
        if u16::from_ne_bytes(array_at(reply, at + 4)?) == NLMSG_ERROR {
            match i32::from_ne_bytes(array_at(reply, at + 16)?) {
                0 => done += 1,
                error => return Err(io::Error::from_raw_os_error(-error)),
            }
        }
        at += len.next_multiple_of(4).max(16);
    }
    Ok(done)
}

const NFNL_SUBSYS_NFTABLES: u16 = 10;
const NFNL_MSG_BATCH_BEGIN: u16 = 16;
const NFNL_MSG_BATCH_END: u16 = 17;
const NFT_MSG_NEWTABLE: u16 = 0;
const NFT_MSG_NEWCHAIN: u16 = 3;
const NFT_MSG_NEWRULE: u16 = 6;
const NLM_F_APPEND: u16 = 0x800;

/// IPv4 and IPv6 alike.
const NFPROTO_INET: u8 = 1;

const NFTA_TABLE_NAME: u16 = 1;
const NFTA_CHAIN_TABLE: u16 = 1;
const NFTA_CHAIN_NAME: u16 = 3;
const NFTA_CHAIN_HOOK: u16 = 4;
const NFTA_CHAIN_TYPE: u16 = 7;
const NFTA_HOOK_HOOKNUM: u16 = 1;
const NFTA_HOOK_PRIORITY: u16 = 2;
const NFTA_RULE_TABLE: u16 = 1;
const NFTA_RULE_CHAIN: u16 = 2;
const NFTA_RULE_EXPRESSIONS: u16 = 4;
const NFTA_LIST_ELEM: u16 = 1;
const NFTA_EXPR_NAME: u16 = 1;
const NFTA_EXPR_DATA: u16 = 2;
const NFTA_IMMEDIATE_DREG: u16 = 1;
const NFTA_IMMEDIATE_DATA: u16 = 2;
const NFTA_DATA_VALUE: u16 = 1;
const NFTA_MASQ_FLAGS: u16 = 1;
const NFTA_MASQ_REG_PROTO_MIN: u16 = 2;
const NFTA_MASQ_REG_PROTO_MAX: u16 = 3;

const TABLE: &str = "gateway";
const CHAIN: &str = "outwards";

fn table() -> Message {
    change(NFT_MSG_NEWTABLE, 0).attribute(NFTA_TABLE_NAME, &terminated(TABLE))
}

/// Where sources are translated: on the way out, behind the routing decision.
fn chain() -> Message {
    const NF_INET_POST_ROUTING: u32 = 4;
    const NF_IP_PRI_NAT_SRC: u32 = 100;
    change(NFT_MSG_NEWCHAIN, 0)
        .attribute(NFTA_CHAIN_TABLE, &terminated(TABLE))
        .attribute(NFTA_CHAIN_NAME, &terminated(CHAIN))
        .nest(NFTA_CHAIN_HOOK, |hook| {
            hook.attribute(NFTA_HOOK_HOOKNUM, &NF_INET_POST_ROUTING.to_be_bytes())
                .attribute(NFTA_HOOK_PRIORITY, &NF_IP_PRI_NAT_SRC.to_be_bytes())
        })
        .attribute(NFTA_CHAIN_TYPE, &terminated("nat"))
}

/// The first and last port into a register each, and the translation that takes them from there.
fn rule(ports: &RangeInclusive<u16>) -> Message {
    const FIRST: u32 = 1;
    const LAST: u32 = 2;
    const NF_NAT_RANGE_PROTO_SPECIFIED: u32 = 2;
    let load = |register: u32, port: u16| {
        move |expression: Message| {
            expression
                .attribute(NFTA_IMMEDIATE_DREG, &register.to_be_bytes())
                .nest(NFTA_IMMEDIATE_DATA, |data| {
                    data.attribute(NFTA_DATA_VALUE, &port.to_be_bytes())
                })
        }
    };
    change(NFT_MSG_NEWRULE, NLM_F_APPEND)
        .attribute(NFTA_RULE_TABLE, &terminated(TABLE))
        .attribute(NFTA_RULE_CHAIN, &terminated(CHAIN))
        .nest(NFTA_RULE_EXPRESSIONS, |rule| {
            let rule = expression(rule, "immediate", load(FIRST, *ports.start()));
            let rule = expression(rule, "immediate", load(LAST, *ports.end()));
            expression(rule, "masq", |masquerade| {
                masquerade
                    .attribute(NFTA_MASQ_FLAGS, &NF_NAT_RANGE_PROTO_SPECIFIED.to_be_bytes())
                    .attribute(NFTA_MASQ_REG_PROTO_MIN, &FIRST.to_be_bytes())
                    .attribute(NFTA_MASQ_REG_PROTO_MAX, &LAST.to_be_bytes())
            })
        })
}

fn expression(rule: Message, name: &str, data: impl FnOnce(Message) -> Message) -> Message {
    rule.nest(NFTA_LIST_ELEM, |element| {
        element.attribute(NFTA_EXPR_NAME, &terminated(name)).nest(NFTA_EXPR_DATA, data)
    })
}

fn change(kind: u16, flags: u16) -> Message {
    let flags = flags | NLM_F_CREATE | NLM_F_ACK;
    Message::request(NFNL_SUBSYS_NFTABLES << 8 | kind, flags).bytes(&nfgenmsg(NFPROTO_INET, 0))
}

fn batch(kind: u16) -> Message {
    Message::request(kind, 0).bytes(&nfgenmsg(0, NFNL_SUBSYS_NFTABLES))
}

/// `struct nfgenmsg`: family, version 0, and for a batch whose it is.
const fn nfgenmsg(family: u8, resource: u16) -> [u8; 4] {
    let [high, low] = resource.to_be_bytes();
    [family, 0, high, low]
}
