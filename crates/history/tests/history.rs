//! A history as its users meet it: what is kept is found again, to the byte, and nothing else is.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use fp_history::{Entry, Error, FILE, Figure, Filter, History, Kept, Retention};

/// Goes away with its value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("fp-history-{}-{count}", std::process::id())))
    }

    fn history(&self) -> History {
        History::open(&self.0).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left behind, it would only be in the way.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A run of the second `second`, with that many Mbit/s.
fn entry(id: &str, second: u32) -> Entry {
    Entry {
        id: id.to_owned(),
        started: format!("2026-11-22T07:{:02}:{:02}Z", second / 60, second % 60),
        method: "flow".to_owned(),
        far: "lab ideal".to_owned(),
        verdict: "pass".to_owned(),
        duration_s: 1.0,
        figure: Some(Figure {
            name: "payload".to_owned(),
            value: f64::from(second) * 1e6,
            unit: "bit/s".to_owned(),
        }),
        labels: Default::default(),
    }
}

fn ids(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.id.as_str()).collect()
}

#[test]
fn a_document_comes_back_to_the_byte_and_its_entry_as_it_was() {
    let folder = Folder::new();
    let document = "{\n  \"µ\": 1\n}\n".repeat(1000);
    let mut kept = entry("a1", 5);
    kept.labels[0] = Some("Site '\"; DROP TABLE run; --".to_owned());
    assert_eq!(folder.history().keep(&kept, document.as_bytes()).unwrap(), Kept::New);
    let history = folder.history();
    assert_eq!(history.document("a1").unwrap(), document.as_bytes());
    assert_eq!(history.latest(&Filter::default(), 9).unwrap(), [kept]);
}

#[test]
fn the_history_is_its_users_alone() {
    let folder = Folder::new();
    folder.history().keep(&entry("a1", 5), b"{}").unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.0.clone()), 0o700);
    for file in fs::read_dir(&folder.0).unwrap() {
        assert_eq!(mode(file.unwrap().path()), 0o600);
    }
}

#[test]
fn a_run_is_found_by_its_time_its_id_and_the_beginning_of_that() {
    let folder = Folder::new();
    let mut history = folder.history();
    for (id, second) in [("ab1", 1), ("ab2", 3), ("b", 2)] {
        history.keep(&entry(id, second), id.as_bytes()).unwrap();
    }
    for (name, id) in
        [("last", "ab2"), ("last~1", "b"), ("last~2", "ab1"), ("ab1", "ab1"), ("b", "b")]
    {
        assert_eq!(history.find(name).unwrap().id, id, "{name}");
    }
    assert!(
        matches!(history.find("ab"), Err(Error::Ambiguous { ids, .. }) if ids == ["ab1", "ab2"])
    );
    for name in ["c", "", "last~3", "last~x", "abc", "%", "_b1"] {
        assert!(matches!(history.find(name), Err(Error::Unknown { .. })), "{name}");
    }
    assert!(matches!(Folder::new().history().find("last"), Err(Error::Empty)));
}

#[test]
fn the_same_run_twice_is_kept_once_and_another_of_its_id_not_at_all() {
    let folder = Folder::new();
    let mut history = folder.history();
    assert_eq!(history.keep(&entry("a", 1), b"one").unwrap(), Kept::New);
    assert_eq!(history.keep(&entry("a", 1), b"one").unwrap(), Kept::Already);
    assert!(matches!(history.keep(&entry("a", 1), b"two"), Err(Error::IdTaken { .. })));
    assert_eq!(history.document("a").unwrap(), b"one");
}

#[test]
fn of_many_at_once_all_are_kept_or_none() {
    let folder = Folder::new();
    let mut history = folder.history();
    history.keep(&entry("c", 1), b"one").unwrap();
    let runs = |of_c: &str| {
        let run = |id: &str| (entry(id, 2), if id == "c" { of_c.into() } else { b"new".to_vec() });
        ["a", "b", "c"].map(run)
    };
    let now = "2026-11-22T08:00:00Z";
    assert!(history.keep_all(runs("two"), now).unwrap_err().to_string().contains("a run c "));
    assert_eq!(history.count(&Filter::default()).unwrap(), 1);
    assert_eq!(history.keep_all(runs("one"), now).unwrap(), 2);
    assert_eq!(history.count(&Filter::default()).unwrap(), 3);
}

#[test]
fn a_filter_lets_pass_what_meets_all_of_it() {
    let folder = Folder::new();
    let mut history = folder.history();
    let mut other = entry("b", 2);
    other.far = "10.0.0.2:6349".to_owned();
    other.labels[3] = Some("Order 77".to_owned());
    history.keep(&entry("a", 1), b"").unwrap();
    history.keep(&other, b"").unwrap();
    let seen = |filter: Filter| {
        let entries = history.latest(&filter, 9).unwrap();
        assert_eq!(history.count(&filter).unwrap(), entries.len() as u64);
        ids(&entries).join(",")
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(seen(Filter { far: text("10.0.0.2"), ..Filter::default() }), "b");
    assert_eq!(seen(Filter { method: text("flow"), ..Filter::default() }), "b,a");
    assert_eq!(seen(Filter { method: text("flo"), ..Filter::default() }), "");
    assert_eq!(seen(Filter { since: text("2026-11-22T07:00:02Z"), ..Filter::default() }), "b");
    assert_eq!(seen(Filter { until: text("2026-11-22T07:00:02Z"), ..Filter::default() }), "a");
    let labels = [None, None, None, text("order 7"), None];
    assert_eq!(seen(Filter { labels, ..Filter::default() }), "b");
    let verdict = text("pass' OR 1=1 --");
    assert_eq!(seen(Filter { verdict, ..Filter::default() }), "");
}

#[test]
fn the_course_of_a_figure_is_that_of_the_same_method_far_end_and_figure() {
    let folder = Folder::new();
    let mut history = folder.history();
    for second in 1..=5 {
        history.keep(&entry(&format!("a{second}"), second), b"").unwrap();
    }
    let mut other = entry("b", 3);
    other.far = "elsewhere".to_owned();
    history.keep(&other, b"").unwrap();
    let fourth = history.find("a4").unwrap();
    assert_eq!(history.course(&fourth, 9).unwrap(), [1e6, 2e6, 3e6, 4e6]);
    assert_eq!(history.course(&fourth, 2).unwrap(), [3e6, 4e6]);
    assert_eq!(history.course(&other, 9).unwrap(), [3e6]);
}

#[test]
fn by_count_and_by_age_the_oldest_go_first() {
    let folder = Folder::new();
    let mut history = folder.history();
    let three = Retention { runs: 3, days: None };
    assert_eq!(history.retain(three, "2026-11-22T08:00:00Z").unwrap(), 0);
    for second in 1..=5 {
        history.keep(&entry(&format!("a{second}"), second), b"{}").unwrap();
    }
    assert_eq!(ids(&history.latest(&Filter::default(), 9).unwrap()), ["a5", "a4", "a3"]);
    assert!(matches!(history.document("a2"), Err(Error::Unknown { .. })));
    assert_eq!(history.retention().unwrap(), three);
    let week = Retention { runs: 3, days: Some(7) };
    assert_eq!(history.retain(week, "2026-11-29T07:00:04Z").unwrap(), 1);
    assert_eq!(ids(&history.latest(&Filter::default(), 9).unwrap()), ["a5", "a4"]);
}

/// Each in a connection of its own, as processes have.
#[test]
fn two_that_keep_at_once_both_keep_everything() {
    let folder = Folder::new();
    const RUNS: u32 = 40;
    std::thread::scope(|scope| {
        for writer in ["a", "b"] {
            let folder = &folder;
            scope.spawn(move || {
                for run in 0..RUNS {
                    let id = format!("{writer}{run}");
                    folder.history().keep(&entry(&id, run), id.as_bytes()).unwrap();
                }
            });
        }
    });
    let history = folder.history();
    let all = history.latest(&Filter::default(), usize::MAX).unwrap();
    assert_eq!(all.len(), 2 * RUNS as usize);
    assert!(all.iter().all(|run| history.document(&run.id).unwrap() == run.id.as_bytes()));
}

#[test]
fn a_file_that_is_no_history_is_left_as_it_is() {
    let folder = Folder::new();
    fs::create_dir(&folder.0).unwrap();
    let file = folder.0.join(FILE);
    let song = "it was a dark and stormy night\n".repeat(100);
    fs::write(&file, &song).unwrap();
    let error = History::open(&folder.0).unwrap_err();
    assert!(error.to_string().contains("is no history of fullpipe"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), song);
}

#[test]
fn a_spoilt_page_is_told_and_nothing_is_repaired_behind_ones_back() {
    let folder = Folder::new();
    let mut history = folder.history();
    for second in 0..50 {
        let noise: Vec<u8> = (0..9000_u32).map(|place| (place * (second + 7) / 13) as u8).collect();
        history.keep(&entry(&format!("a{second:02}"), second), &noise).unwrap();
    }
    drop(history);
    let file = folder.0.join(FILE);
    let mut bytes = fs::read(&file).unwrap();
    // Beyond the file's header and the schema.
    bytes[8192..].fill(0xa5);
    fs::write(&file, &bytes).unwrap();
    let history = History::open(&folder.0).unwrap();
    let error = history.latest(&Filter::default(), 99).unwrap_err();
    assert!(error.to_string().contains("is damaged"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[test]
fn a_folder_that_cannot_be_made_is_named_with_the_remedy() {
    let folder = Folder::new();
    fs::write(&folder.0, "").unwrap();
    let error = History::open(&folder.0.join("inside")).unwrap_err().to_string();
    assert!(error.contains("inside") && error.contains("$FULLPIPE_DATA"), "{error}");
    fs::remove_file(&folder.0).unwrap();
}
