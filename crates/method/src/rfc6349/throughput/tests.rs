//! How many windows a walk takes, and how long.

use super::*;

#[test]
fn the_walk_goes_by_quarters_of_the_connections() {
    assert_eq!(walk_steps(1), [1]);
    assert_eq!(walk_steps(3), [1, 2, 3]);
    assert_eq!(walk_steps(4), [1, 2, 3, 4]);
    assert_eq!(walk_steps(16), [4, 8, 12, 16]);
}

#[test]
fn a_trial_lasts_whole_round_trips() {
    let ms = Duration::from_millis;
    // 2500 / 54 = 46.3.
    assert_eq!(whole_round_trips(ms(2500), ms(54)), ms(47 * 54));
    assert_eq!(whole_round_trips(ms(2500), ms(100)), ms(2500));
}
