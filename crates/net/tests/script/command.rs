//! The words of a script's segments.

use fp_net::tcp::Flags;

/// A segment as a script names it; what it does not name is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) flags: Flags,
    /// From the SYN of the side that sends it.
    pub(super) sequence: u32,
    pub(super) payload_bytes: u32,
    /// From the SYN of the other side.
    pub(super) ack: Option<u32>,
    pub(super) window: Option<u16>,
    pub(super) mss: Option<u16>,
    pub(super) scale: Option<u8>,
    pub(super) sack_permitted: bool,
    /// The value of ours counts milliseconds of the script.
    pub(super) timestamps: Option<(u32, u32)>,
    pub(super) sacks: Vec<(u32, u32)>,
    /// The network has marked it, or may do so.
    pub(super) is_marked: bool,
    /// It has no options.
    pub(super) is_bare: bool,
}

pub(super) fn parse(words: &[&str]) -> Result<Named, String> {
    let [flags, sequence, rest @ ..] = words else {
        return Err("a segment has flags and a sequence number".into());
    };
    let flags = Flags::parse(flags).ok_or_else(|| format!("`{flags}` are no flags"))?;
    let mut named = Named { flags, sequence: number(sequence)?, ..Named::default() };
    let mut rest = rest.iter().copied();
    while let Some(word) = rest.next() {
        let mut next = || rest.next().ok_or_else(|| format!("`{word}` of what?"));
        match word {
            "payload" => named.payload_bytes = number(next()?)?,
            "ack" => named.ack = Some(number(next()?)?),
            "win" => named.window = Some(number(next()?)? as u16),
            "mss" => named.mss = Some(number(next()?)? as u16),
            "scale" => named.scale = Some(number(next()?)? as u8),
            "sackok" => named.sack_permitted = true,
            "ts" => named.timestamps = Some((number(next()?)?, number(next()?)?)),
            "sack" => {
                let block = next()?.split_once('-').ok_or("a block is START-END")?;
                named.sacks.push((number(block.0)?, number(block.1)?));
            }
            "ce" | "ect" => named.is_marked = true,
            "bare" => named.is_bare = true,
            _ => return Err(format!("`{word}` is no word of a segment")),
        }
    }
    Ok(named)
}

/// Negative ones count from 2^32.
pub(super) fn number(word: &str) -> Result<u32, String> {
    let number: i64 = word.parse().map_err(|_| format!("`{word}` is no number"))?;
    Ok(number as u32)
}
