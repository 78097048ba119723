//! Searches for a rate and for a path MTU, and what MLRsearch makes of trials.

use fp_method::mlr::{LoadTrial, SearchGoal};
use fp_method::mtu::{MtuSearch, MtuStep, ProbeOutcome};
use fp_method::search::{Search, SearchPlan, Step};
use fp_method::{BitsPerSecond, Number, Seconds};
use fp_model::{Layer, Rate};

use crate::cli::calc::function::{
    Figure, Figures, Function, Inputs, Kind, Param, Refusal, Shown, required, shown,
};

/// The searches count in whole units: here a millionth of a millionth of a percent.
const UNITS_PER_PERCENT: i64 = 1_000_000_000_000;
/// How many trials of one load a search may take.
const MOST_TRIALS: usize = 1_000_000;

const SEARCH: &[Param] = &[
    required("capacity", "capacity_pct", Kind::Decimal, "What the link carries, in percent"),
    required("initial", "initial", Kind::Decimal, "First rate to try").or("100"),
    required("min", "min", Kind::Decimal, "Lowest rate").or("10"),
    required("max", "max", Kind::Decimal, "Highest rate").or("100"),
    required("resolution", "resolution", Kind::Decimal, "Resolution").or("0.5"),
];
const FOUND: &[Shown] = &[
    shown("result", "found_percent", "rate found"),
    shown("trials", "trials", "trials"),
    shown("trace", "trace_percent", "rates tried"),
];
const GOAL_FINAL: Param =
    required("final", "goal.final_s", Kind::Time, "Duration of a full-length trial");
const GOAL_SUM: Param = required("sum", "goal.sum_s", Kind::Time, "Duration sum of the goal");
const GOAL_LOSS: Param = required("loss", "goal.loss", Kind::Decimal, "Loss ratio of the goal");
const GOAL_EXCEED: Param =
    required("exceed", "goal.exceed", Kind::Decimal, "Exceed ratio of the goal, below 1");
const TRIALS: Param = required(
    "trials",
    "trials",
    Kind::Trials,
    "Trials as COUNTxTIME:LOSS, such as 59x1s:0,1x60s:0.001",
);

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "search-binary",
        case_name: "binary_search",
        about: "Binary search against a link that drops what it cannot carry",
        params: SEARCH,
        results: FOUND,
        evaluate: |inputs| {
            Ok(follow(Search::binary(plan(inputs)?), inputs.number("capacity_pct")?))
        },
    },
    Function {
        name: "search-fast",
        case_name: "loss_aware_search",
        about: "Loss-aware search against a link that drops what it cannot carry",
        params: SEARCH,
        results: FOUND,
        evaluate: |inputs| Ok(follow(Search::fast(plan(inputs)?), inputs.number("capacity_pct")?)),
    },
    Function {
        name: "mlr-classify",
        case_name: "mlr_classify",
        about: "What trials at a load make of it for a goal (RFC 9971)",
        params: &[GOAL_FINAL, GOAL_SUM, GOAL_LOSS, GOAL_EXCEED, TRIALS],
        results: &[shown("classification", "classification", "bound")],
        evaluate: |inputs| {
            let class = goal(inputs)?.classify(&trials(inputs)?);
            Ok(vec![("classification", Figure::Text(class.name().to_owned()))])
        },
    },
    Function {
        name: "mlr-throughput",
        case_name: "mlr_conditional_throughput",
        about: "Conditional throughput of a load for a goal (RFC 9971)",
        params: &[
            GOAL_FINAL,
            GOAL_SUM,
            GOAL_LOSS,
            GOAL_EXCEED,
            required("load", "load", Kind::Rate(Layer::L2), "Load of the trials"),
            TRIALS,
        ],
        results: &[shown(
            "conditional_throughput",
            "conditional_throughput_bps",
            "conditional throughput at layer 2",
        )],
        evaluate: |inputs| {
            let share = goal(inputs)?.conditional_forwarding_ratio(&trials(inputs)?);
            let throughput: BitsPerSecond = inputs.rate("load")? * share;
            Ok(vec![("conditional_throughput", throughput.into())])
        },
    },
    Function {
        name: "mtu-bisect",
        case_name: "plpmtud_bisect",
        about: "Probes of a path MTU search that halves its range",
        params: &[
            required("path-mtu", "path_mtu", Kind::Size, "What the path carries"),
            required("low", "search_low", Kind::Size, "Size known to pass").or("1024"),
            required("high", "search_high", Kind::Size, "Largest size to try").or("1500"),
        ],
        results: &[
            shown("pmtu", "mtu_bytes", "path MTU found"),
            shown("probes", "probes_bytes", "probes"),
        ],
        evaluate: bisect,
    },
];

fn plan(inputs: &Inputs) -> Result<SearchPlan, Refusal> {
    let units = |key| {
        let units = (inputs.number(key)? * Number::whole(UNITS_PER_PERCENT)).floor();
        let units = units.to_u64().ok_or_else(|| Refusal::new(key, "is too large for percent"));
        units.map(Rate::bps)
    };
    let (lowest, highest) = (units("min")?, units("max")?);
    if lowest > highest {
        return Err(Refusal::new("min", "must not exceed the highest rate"));
    }
    let (initial, resolution) = (units("initial")?, units("resolution")?);
    Ok(SearchPlan { lowest, highest, initial, resolution, accepted_loss_ratio: 0.0 })
}

/// Lets a search loose on a link that carries `capacity` percent and drops the rest.
fn follow(mut search: Search, capacity: Number) -> Figures {
    let percent =
        |rate: Rate| Number::ratio(i128::from(rate.as_bps()), i128::from(UNITS_PER_PERCENT));
    let mut tried = search.first();
    let mut trace = Vec::new();
    let found = loop {
        trace.push(percent(tried));
        let carried = capacity / percent(tried);
        let loss_ratio = (Number::ONE - carried.min(Number::ONE)).to_f64();
        // Of nothing offered nothing is lost.
        match search.judge(loss_ratio.unwrap_or(0.0)) {
            Step::Try(next) => tried = next,
            Step::Found(rate) => break percent(rate),
        }
    };
    let trials = Number::from(trace.len() as u64);
    vec![("result", found.into()), ("trials", trials.into()), ("trace", Figure::List(trace))]
}

fn goal(inputs: &Inputs) -> Result<SearchGoal, Refusal> {
    let below_one = |key| {
        let ratio = inputs.ratio(key)?;
        let below = ratio < Number::ONE;
        below.then_some(ratio).ok_or_else(|| Refusal::new(key, "must be below 1"))
    };
    Ok(SearchGoal {
        final_duration: inputs.seconds("goal.final_s")?,
        duration_sum: inputs.seconds("goal.sum_s")?,
        loss_ratio: below_one("goal.loss")?,
        exceed_ratio: below_one("goal.exceed")?,
    })
}

fn trials(inputs: &Inputs) -> Result<Vec<LoadTrial>, Refusal> {
    let mut trials = Vec::new();
    for group in inputs.rows("trials")? {
        let duration: Seconds = group.seconds("duration_s")?;
        let trial = LoadTrial { duration, loss_ratio: group.ratio("loss_ratio")? };
        let count = if group.has("count") { group.count("count")? } else { 1 };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > MOST_TRIALS - trials.len() {
            return Err(Refusal::new("trials", format!("must not be more than {MOST_TRIALS}")));
        }
        trials.extend(std::iter::repeat_n(trial, count));
    }
    Ok(trials)
}

fn bisect(inputs: &Inputs) -> Result<Figures, Refusal> {
    let path_mtu = inputs.small_count("path_mtu")?;
    let (low, high) = (inputs.small_count("search_low")?, inputs.small_count("search_high")?);
    if low > high {
        return Err(Refusal::new("search_low", "must not exceed search_high"));
    }
    let mut search = MtuSearch::bisect(low, high);
    let mut probes = Vec::new();
    let mtu = loop {
        match search.next() {
            MtuStep::Found(mtu) => break mtu,
            MtuStep::Probe(size) => {
                probes.push(Number::from(size));
                let passes = size <= path_mtu;
                let outcome = if passes { ProbeOutcome::Answered } else { ProbeOutcome::TooLarge };
                search.on_outcome(outcome);
            }
        }
    };
    Ok(vec![("pmtu", mtu.into()), ("probes", Figure::List(probes))])
}
