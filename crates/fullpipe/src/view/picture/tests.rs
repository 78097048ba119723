//! The screen at the sizes that people have, against files that were looked at.

use fp_model::{
    CongestionControl, Direction, Dscp, Event, Family, FlowSpec, Load, Observation, Pace, Sample,
    Sender, TcpEngine, TcpLoad, Timing, Trial,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::state::Wish;
use super::*;

const START: Time = Time::from_nanos(0);
const NOW: Time = Time::from_nanos(75_000_000_000);

/// Both ways at once, 2 of 4 s: download rises to 40 Mbit/s and loses, upload stays at 10 Mbit/s.
fn view() -> View {
    let mut view = View::new(START);
    view.across = String::from("lab metro-40m-cbs64k");
    let (download, upload) = (Direction::Download, Direction::Upload);
    let flow = |direction| {
        let load = TcpLoad {
            connections: 4,
            window_bytes: 67_500,
            mss_bytes: 1460,
            sender: Sender::Bulk,
            congestion_control: CongestionControl::Cubic,
            pacing: None,
            pace: Pace::Unlimited,
            write_bytes: None,
            engine: TcpEngine::Kernel,
        };
        FlowSpec::new(direction, Family::Ipv4, Dscp::default(), Load::Tcp(load))
    };
    let timing = Timing {
        warm_up: Duration::from_secs(1),
        steady: Duration::from_secs(3),
        settle: Duration::from_secs(1),
    };
    let flows = vec![flow(download), flow(upload)];
    view.on_event(START, &Event::Started(Trial { name: "TCP, both ways".into(), flows, timing }));
    for slot in 0..10 {
        for (flow, direction, bytes, again) in
            [(0, download, 100_000 * (slot + 1), 20_000), (1, upload, 250_000, 0)]
        {
            let sample = Sample {
                at: Duration::from_millis(200 * slot),
                lasts: Duration::from_millis(200),
                sent_bytes: Some(1_000_000),
                received_bytes: Some(bytes),
                retransmitted_bytes: Some(again),
                rtt: Some(Duration::from_micros(54_000 + 500 * slot)),
                ..Sample::default()
            };
            view.on_event(NOW, &Event::Sampled { flow, direction, sample });
        }
    }
    let step = |name: &str, figure: &str, outcome, remark: &str| StepLine {
        name: name.into(),
        figure: figure.into(),
        outcome,
        remark: remark.into(),
    };
    view.on_steps(vec![
        step("path mtu download", "1,500 B", StepOutcome::Done, ""),
        step("cbs download", "64,000 B", StepOutcome::Passed, ""),
        step("policing download", "48,000 B", StepOutcome::Failed, "25 % less than configured"),
        step("tcp download", "15.30 Mbit/s", StepOutcome::Remarked, "38 % of the ideal"),
    ]);
    view
}

fn drawn(view: &View, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, view, NOW, Palette::Colours)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let row = |y| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..rows).map(|y| row(y).trim_end().to_owned() + "\n").collect()
}

#[test]
fn the_screen_of_80_by_24() {
    assert_eq!(drawn(&view(), 80, 24), include_str!("80x24.txt"));
}

#[test]
fn the_screen_of_120_by_40_has_room_for_more_curves() {
    assert_eq!(drawn(&view(), 120, 40), include_str!("120x40.txt"));
}

#[test]
fn figures_are_those_of_the_last_whole_slot_with_their_layer() {
    // 900,000 bytes in 0.2 s are 36 Mbit/s, 250,000 are 10; 20,000 of 1,000,000 are 2 %.
    let text = drawn(&view(), 80, 24);
    let download = "↓ download 36.00 Mbit/s (l4), RTT 58.00 ms, 2.00 % retransmitted";
    assert!(text.contains(download), "{text}");
    assert!(
        text.contains("↑ upload   10.00 Mbit/s (l4), RTT 58.00 ms, 0.00 % retransmitted"),
        "{text}"
    );
    assert!(text.contains("[########--------] 2.0 s left"), "{text}");
    assert!(text.contains("FAIL   3 policing download: 48,000 B – 25 % less"), "{text}");
}

#[test]
fn every_size_can_be_drawn() {
    let mut view = view();
    for _ in 0..2 {
        // More of a width is more of the same.
        for (columns, rows) in
            (0..100).step_by(9).flat_map(|columns| (0..45).map(move |rows| (columns, rows)))
        {
            drawn(&view, columns, rows);
        }
        view.on_wish(Wish::Help);
    }
}

#[test]
fn before_anything_has_happened_and_after_all_has_the_screen_says_so() {
    let mut view = View::new(START);
    assert!(drawn(&view, 80, 24).contains("meeting the far end"));
    assert!(drawn(&view, 80, 24).contains("nothing was received yet"));
    view.on_event(START, &Event::Finished(Observation::default()));
    assert!(drawn(&view, 80, 24).contains("next trial"));
    view.on_wish(Wish::Stop);
    assert!(drawn(&view, 80, 24).contains("ending the run"));
}

#[test]
fn without_colours_no_cell_has_one() {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| draw(frame, &view(), NOW, Palette::Plain)).unwrap();
    let cells = terminal.backend().buffer().content();
    assert!(cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
}

#[test]
fn a_name_cannot_steer_the_terminal() {
    let mut view = view();
    view.across = String::from("\u{1b}[2Jgone");
    assert!(drawn(&view, 80, 24).contains("\u{fffd}[2Jgone"));
}
