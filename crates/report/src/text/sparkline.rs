//! The course of a figure in one line.

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// What differs by less, as a share of the largest, is shown as the same: a line is no microscope.
const SAME: f64 = 0.02;

/// A character for each value, from the smallest to the largest; all the same where they hardly
/// differ.
pub fn sparkline(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = most - least;
    if range <= SAME * most.abs() {
        return values.iter().map(|_| LEVELS[LEVELS.len() / 2]).collect();
    }
    let highest = (LEVELS.len() - 1) as f64;
    let level = |value: &f64| LEVELS[((value - least) / range * highest).round() as usize];
    values.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_is_lowest_and_the_largest_fills_the_cell() {
        assert_eq!(sparkline(&[0.0, 3.5, 7.0]), "▁▅█");
        assert_eq!(sparkline(&[]), "");
    }

    #[test]
    fn what_hardly_differs_is_level() {
        assert_eq!(sparkline(&[37.1, 37.2, 37.0]), "▅▅▅");
        assert_eq!(sparkline(&[0.0, 0.0]), "▅▅");
        assert_eq!(sparkline(&[36.0, 37.2]), "▁█");
    }
}
