//! Whatever arrives, and whatever the application does, in any order: a connection survives it.
//!
//! The target `tcp_connection` of `fuzz` draws the same by which branches have been reached.

#[path = "fuzz/ordeal.rs"]
mod ordeal;

use fp_net::tcp::{Extensions, Nagle, Profile};
use ordeal::{Arriving, Beginning, Deed, Number};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn any_arriving() -> impl Strategy<Value = Arriving> {
    let payload = prop_oneof![3 => Just(0_u32), 3 => 1..3000_u32, 1 => 0..65_000_u32];
    let window = prop_oneof![Just(0_u16), 0..200_u16, Just(65_535), any::<u16>()];
    // Acknowledgements are what most segments are.
    let flags = prop_oneof![6 => Just(0x10_u8), 2 => Just(0x18), 1 => Just(0x11), 1 => Just(2),
        1 => Just(0x12), 1 => Just(4), 1 => any::<u8>()];
    let echo = prop_oneof![4 => 0..6000_u32, 1 => any::<u32>()];
    let timestamps = option::of((0..50_u32, echo));
    let sacks = vec((any_number(), any_number()), 0..5);
    let options = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), timestamps, sacks);
    (flags, any_number(), any_number(), payload, window, options, any::<bool>()).prop_map(
        |(flags, sequence, acknowledgement, payload_bytes, window, options, is_marked)| {
            let (mss, window_scale, sack_permitted, timestamps, sacks) = options;
            Arriving {
                flags,
                sequence,
                acknowledgement,
                payload_bytes,
                window,
                mss,
                window_scale,
                sack_permitted,
                timestamps,
                sacks,
                is_marked,
            }
        },
    )
}

fn any_number() -> impl Strategy<Value = Number> {
    prop_oneof![
        6 => (-2..5000_i32).prop_map(Number::FromFirst),
        1 => any::<i32>().prop_map(Number::FromFirst),
        6 => (-2000..2000_i32).prop_map(Number::FromEdge),
        6 => Just(Number::FromEdge(0)),
    ]
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let wait = prop_oneof![0..50_000_u64, 0..300_000_000_u64];
    prop_oneof![
        8 => any_arriving().prop_map(Deed::Arrive),
        2 => wait.prop_map(Deed::Wait),
        3 => Just(Deed::WaitForAlarm),
        3 => (0..20_000_u32).prop_map(Deed::Send),
        1 => Just(Deed::Close),
        1 => prop_oneof![9 => Just(Deed::Close), 1 => Just(Deed::Abort)],
        1 => Just(Deed::Hold),
        1 => Just(Deed::Release),
    ]
}

fn any_beginning() -> impl Strategy<Value = Beginning> {
    let profile = (any::<[bool; 5]>(), 64_u16..9000, 1_u32..100_000).prop_map(
        |([timestamps, window_scaling, sack, ecn, nagle], mss_bytes, window_bytes)| Profile {
            mss_bytes,
            window_bytes,
            extensions: Extensions { timestamps, window_scaling, sack, ecn },
            nagle: if nagle { Nagle::On } else { Nagle::Off },
            ..Profile::default()
        },
    );
    (profile, any::<[bool; 3]>(), option::of(0..16_u8)).prop_map(
        |(profile, [is_active, forgoes_challenges, peer_sack], peer_scale)| Beginning {
            profile,
            is_active,
            forgoes_challenges,
            peer_scale,
            peer_sack,
        },
    )
}

proptest! {
    #[test]
    fn a_connection_survives_whatever_comes(
        beginning in any_beginning(),
        deeds in vec(any_deed(), 0..60),
    ) {
        ordeal::run(&beginning, &deeds);
    }
}
