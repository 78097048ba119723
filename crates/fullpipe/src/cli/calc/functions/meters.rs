//! Three-colour meters: the colours of a list of packets and what is left in the buckets.

use fp_method::Number;
use fp_model::{Layer, Rate, Time};
use fp_net::meter::{
    BandwidthProfile, BandwidthProfileSpec, BurstSizes, Colour, ColourMode, Coupling, MarkerRates,
    SingleRateMarker, TokenBucket, TwoRateMarker,
};

use crate::cli::calc::function::{
    Figure, Figures, Function, Inputs, Kind, Param, Refusal, Shown, optional, required, shown,
    whole,
};

const CIR: Param = required("cir", "cir_Bps", Kind::ByteRate(Layer::L2), "Committed rate");
const CBS: Param = required("cbs", "cbs", Kind::Size, "Committed burst size");
const EIR: Param = required("eir", "eir_Bps", Kind::ByteRate(Layer::L2), "Excess rate");
const EBS: Param = required("ebs", "ebs", Kind::Size, "Excess burst size");
const AWARE: Param =
    optional("color-aware", "color_aware", Kind::Switch, "Believe the colours of the packets");
const PACKETS: Param = required(
    "packets",
    "packets",
    Kind::Packets,
    "Packets as TIME:BYTES[:COLOUR], such as 0:1500:G,1ms:500",
);
const COLOURS: Shown = shown("colors", "colors", "colours");

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "srtcm",
        case_name: "srtcm",
        about: "Colours of packets by the single-rate marker of RFC 2697",
        params: &[CIR, CBS, EBS, AWARE, PACKETS],
        results: &[
            COLOURS,
            shown("tc_end", "committed_bytes", "committed tokens left"),
            shown("te_end", "excess_bytes", "excess tokens left"),
        ],
        evaluate: |inputs| {
            let burst = bursts(inputs, "ebs")?;
            let mut meter =
                SingleRateMarker::new(rate(inputs, "cir_Bps")?, burst, mode(inputs)?, Time::ZERO);
            let colours = colours(inputs, |now, bytes, pre| meter.colour(now, bytes, pre))?;
            Ok(figures(colours, ("tc_end", meter.committed()), ("te_end", meter.excess())))
        },
    },
    Function {
        name: "trtcm",
        case_name: "trtcm",
        about: "Colours of packets by the two-rate marker of RFC 2698",
        params: &[
            CIR,
            CBS,
            required("pir", "pir_Bps", Kind::ByteRate(Layer::L2), "Peak rate"),
            required("pbs", "pbs", Kind::Size, "Peak burst size"),
            AWARE,
            PACKETS,
        ],
        results: &[
            COLOURS,
            shown("tc_end", "committed_bytes", "committed tokens left"),
            shown("tp_end", "peak_bytes", "peak tokens left"),
        ],
        evaluate: |inputs| {
            let (cir, pir) = (rate(inputs, "cir_Bps")?, rate(inputs, "pir_Bps")?);
            let rates = MarkerRates { committed_l3: cir, peak_l3: pir };
            let burst = bursts(inputs, "pbs")?;
            let mut meter = TwoRateMarker::new(rates, burst, mode(inputs)?, Time::ZERO);
            let colours = colours(inputs, |now, bytes, pre| meter.colour(now, bytes, pre))?;
            Ok(figures(colours, ("tc_end", meter.committed()), ("tp_end", meter.peak())))
        },
    },
    Function {
        name: "rfc4115",
        case_name: "rfc4115",
        about: "Colours of packets by the two-rate marker of RFC 4115",
        params: &[CIR, CBS, EIR, EBS, AWARE, PACKETS],
        results: &[
            COLOURS,
            shown("tc_end", "committed_bytes", "committed tokens left"),
            shown("te_end", "excess_bytes", "excess tokens left"),
        ],
        evaluate: |inputs| {
            let (colours, meter) = profile(inputs, Coupling::Uncoupled)?;
            Ok(figures(colours, ("tc_end", meter.committed()), ("te_end", meter.excess())))
        },
    },
    Function {
        name: "bandwidth-profile",
        case_name: "mef_bwp",
        about: "Colours of frames by a MEF bandwidth profile",
        params: &[
            CIR,
            CBS,
            EIR,
            EBS,
            optional("coupled", "cf", Kind::Switch, "Unused committed tokens become excess ones"),
            AWARE,
            PACKETS,
        ],
        results: &[
            COLOURS,
            shown("bc_end", "committed_bytes", "committed tokens left"),
            shown("be_end", "excess_bytes", "excess tokens left"),
        ],
        evaluate: |inputs| {
            let coupled = inputs.has("cf") && inputs.flag("cf")?;
            let coupling = if coupled { Coupling::Coupled } else { Coupling::Uncoupled };
            let (colours, meter) = profile(inputs, coupling)?;
            Ok(figures(colours, ("bc_end", meter.committed()), ("be_end", meter.excess())))
        },
    },
];

fn profile(inputs: &Inputs, coupling: Coupling) -> Result<(String, BandwidthProfile), Refusal> {
    let spec = BandwidthProfileSpec {
        cir_l2: rate(inputs, "cir_Bps")?,
        cbs_bytes: inputs.count("cbs")?,
        eir_l2: rate(inputs, "eir_Bps")?,
        ebs_bytes: inputs.count("ebs")?,
        coupling,
        mode: mode(inputs)?,
    };
    let mut meter = BandwidthProfile::new(&spec, Time::ZERO);
    let colours = colours(inputs, |now, bytes, pre| meter.colour(now, bytes, pre))?;
    Ok((colours, meter))
}

fn rate(inputs: &Inputs, key: &str) -> Result<Rate, Refusal> {
    let bits = inputs.number(key)? * Number::whole(8);
    let wrong = || Refusal::new(key, "must come out as a whole number of bit/s");
    bits.to_u64().map(Rate::bps).ok_or_else(wrong)
}

fn bursts(inputs: &Inputs, beyond: &str) -> Result<BurstSizes, Refusal> {
    let committed_bytes = inputs.count("cbs")?;
    Ok(BurstSizes { committed_bytes, beyond_bytes: inputs.count(beyond)? })
}

fn mode(inputs: &Inputs) -> Result<ColourMode, Refusal> {
    let aware = inputs.has("color_aware") && inputs.flag("color_aware")?;
    Ok(if aware { ColourMode::Aware } else { ColourMode::Blind })
}

/// The letters of the colours that `meter` gives the packets, one after the other.
fn colours(
    inputs: &Inputs,
    mut meter: impl FnMut(Time, u32, Colour) -> Colour,
) -> Result<String, Refusal> {
    let mut earlier = Time::ZERO;
    let mut letters = String::new();
    for packet in inputs.rows("packets")? {
        let now = arrival(&packet)?;
        if now < earlier {
            return Err(Refusal::new("packets", "must come in the order of their times"));
        }
        earlier = now;
        let pre = if packet.has("pre") { colour(packet.text("pre")?)? } else { Colour::Green };
        letters.push(match meter(now, packet.small_count("len")?, pre) {
            Colour::Green => 'G',
            Colour::Yellow => 'Y',
            Colour::Red => 'R',
        });
    }
    Ok(letters)
}

/// To the nearest nanosecond: the clock of the meters.
fn arrival(packet: &Inputs) -> Result<Time, Refusal> {
    let nanos = packet.number("t")? * Number::whole(1_000_000_000) + Number::ratio(1, 2);
    whole("t", nanos.floor()).map(Time::from_nanos)
}

fn colour(letter: &str) -> Result<Colour, Refusal> {
    match letter {
        "G" | "green" => Ok(Colour::Green),
        "Y" | "yellow" => Ok(Colour::Yellow),
        "R" | "red" => Ok(Colour::Red),
        _ => Err(Refusal::new("pre", "must be one of G, Y and R")),
    }
}

fn figures(
    colours: String,
    (committed_key, committed): (&'static str, &TokenBucket),
    (other_key, other): (&'static str, &TokenBucket),
) -> Figures {
    let bytes = |bucket: &TokenBucket| {
        let per_byte = TokenBucket::TOKENS_PER_BYTE as i128;
        let level = i128::try_from(bucket.level());
        level.map_or(Number::UNDEFINED, |level| Number::ratio(level, per_byte))
    };
    vec![
        ("colors", Figure::Text(colours)),
        (committed_key, bytes(committed).into()),
        (other_key, bytes(other).into()),
    ]
}
