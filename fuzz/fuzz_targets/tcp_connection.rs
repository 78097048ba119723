//! One end of a TCP connection to which anything happens, drawn from bytes.

#![no_main]

#[path = "../../crates/net/tests/fuzz/ordeal.rs"]
mod ordeal;

use std::time::Duration;

use arbitrary::{Arbitrary, Result, Unstructured};
use fp_net::tcp::{Algorithm, Extensions, Nagle, Profile};
use libfuzzer_sys::fuzz_target;
use ordeal::{Arriving, Beginning, Deed, Number};

const DEEDS_MAX: usize = 200;

fuzz_target!(|ordeal: Ordeal| ordeal::run(&ordeal.beginning, &ordeal.deeds));

#[derive(Debug)]
struct Ordeal {
    beginning: Beginning,
    deeds: Vec<Deed>,
}

impl<'a> Arbitrary<'a> for Ordeal {
    fn arbitrary(draw: &mut Unstructured<'a>) -> Result<Self> {
        let beginning = beginning(draw)?;
        let mut deeds = Vec::new();
        while !draw.is_empty() && deeds.len() < DEEDS_MAX {
            deeds.push(deed(draw)?);
        }
        Ok(Self { beginning, deeds })
    }
}

fn beginning(draw: &mut Unstructured<'_>) -> Result<Beginning> {
    let is = |bits: u8, bit: u8| bits >> bit & 1 == 1;
    let (how, wanted): (u8, u8) = (draw.arbitrary()?, draw.arbitrary()?);
    let profile = Profile {
        mss_bytes: draw.arbitrary()?,
        window_bytes: match draw.arbitrary::<u8>()? {
            small @ 1..128 => small.into(),
            large => draw.int_in_range(
                1..=match large & 3 {
                    0 => 1 << 30,
                    1 => 1 << 20,
                    _ => 65_535,
                },
            )?,
        },
        algorithm: if is(how, 0) { Algorithm::Reno } else { Algorithm::Cubic },
        nagle: if is(how, 1) { Nagle::On } else { Nagle::Off },
        extensions: Extensions {
            timestamps: is(wanted, 0),
            window_scaling: is(wanted, 1),
            sack: is(wanted, 2),
            ecn: is(wanted, 3),
        },
        fin_wait_2: is(how, 2).then_some(Duration::from_secs(60)),
        retransmissions_max: if is(how, 3) { 2 } else { 15 },
        ..Profile::default()
    };
    Ok(Beginning {
        profile,
        is_active: is(how, 4),
        forgoes_challenges: is(how, 5),
        peer_scale: is(how, 6).then_some(wanted >> 4),
        peer_sack: is(how, 7),
    })
}

fn deed(draw: &mut Unstructured<'_>) -> Result<Deed> {
    Ok(match draw.arbitrary::<u8>()? & 0xf {
        0 => Deed::Wait(draw.arbitrary::<u16>()?.into()),
        1 => Deed::Wait(draw.int_in_range(0..=300_000_000)?),
        2 | 3 => Deed::WaitForAlarm,
        4 => Deed::Send(draw.arbitrary::<u8>()?.into()),
        5 => Deed::Send(draw.int_in_range(0..=200_000)?),
        6 => Deed::Close,
        7 if draw.ratio(1, 4)? => Deed::Abort,
        7 => Deed::Hold,
        8 => Deed::Release,
        // What a peer sends that has got everything, or asks for it.
        9 => Deed::Arrive(Arriving { flags: 0x10, ..arriving(draw, true)? }),
        10 => Deed::Arrive(Arriving { flags: 0x18, ..arriving(draw, true)? }),
        11 => Deed::Arrive(Arriving { flags: 0x11, ..arriving(draw, true)? }),
        _ => Deed::Arrive(arriving(draw, false)?),
    })
}

fn arriving(draw: &mut Unstructured<'_>, is_brief: bool) -> Result<Arriving> {
    let has: u8 = draw.arbitrary()?;
    let is = |bit: u8| has >> bit & 1 == 1;
    let mut arriving = Arriving {
        flags: if is_brief { 0 } else { draw.arbitrary()? },
        sequence: if is(0) { number(draw)? } else { Number::FromEdge(0) },
        acknowledgement: if is(1) { number(draw)? } else { Number::FromEdge(0) },
        payload_bytes: if is(2) { draw.int_in_range(0..=65_000)? } else { 0 },
        window: if is(3) { draw.arbitrary()? } else { u16::MAX },
        mss: None,
        window_scale: None,
        sack_permitted: false,
        timestamps: if is(4) { Some((1, 0)) } else { None },
        sacks: Vec::new(),
        is_marked: is(5),
    };
    if is(6) {
        let (value, echo): (u8, u16) = (draw.arbitrary()?, draw.arbitrary()?);
        arriving.timestamps = Some((value.into(), echo.into()));
    }
    if is(7) {
        let (options, count): (u8, usize) = (draw.arbitrary()?, draw.int_in_range(0..=4)?);
        arriving.mss = if options & 1 == 1 { Some(draw.arbitrary()?) } else { None };
        arriving.window_scale = (options & 2 == 2).then_some(options >> 4);
        arriving.sack_permitted = options & 4 == 4;
        for _ in 0..count {
            arriving.sacks.push((number(draw)?, number(draw)?));
        }
    }
    Ok(arriving)
}

fn number(draw: &mut Unstructured<'_>) -> Result<Number> {
    Ok(match draw.arbitrary::<u8>()? & 7 {
        0 => Number::FromFirst(draw.arbitrary()?),
        1 | 2 => Number::FromFirst(draw.arbitrary::<u16>()?.into()),
        3 => Number::FromEdge(draw.arbitrary()?),
        4 => Number::FromEdge(draw.arbitrary::<i8>()?.into()),
        _ => Number::FromEdge(draw.arbitrary::<i16>()?.into()),
    })
}
