//! Clocks and rows.

use std::error::Error;
use std::time::{Duration, Instant};

/// Times both sides in turn and returns the median of each: first that of `false`, then that of `true`.
pub(crate) fn paired(
    rounds: usize,
    clock: fn() -> Duration,
    mut side: impl FnMut(bool) -> Result<(), Box<dyn Error>>,
) -> Result<[Duration; 2], Box<dyn Error>> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..=rounds {
        for (times, second) in times.iter_mut().zip([false, true]) {
            let start = clock();
            side(second)?;
            times.push(clock().saturating_sub(start));
        }
    }
    Ok(times.map(|mut times| {
        // The first round warms up.
        let mut times = times.split_off(1);
        times.sort_unstable();
        times[times.len() / 2]
    }))
}

/// How long this thread has been on a processor, where the system tells, so that a busy machine disturbs less.
#[cfg(target_os = "linux")]
pub(crate) fn busy() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// How long all threads together have been on processors.
#[cfg(target_os = "linux")]
pub(crate) fn working() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Time that passes: this system does not tell how long threads have been on processors.
#[cfg(not(target_os = "linux"))]
pub(crate) fn working() -> Duration {
    passing()
}

/// Time that passes: this system does not tell how long a thread has been on a processor.
#[cfg(not(target_os = "linux"))]
pub(crate) fn busy() -> Duration {
    passing()
}

/// Time that passes, whoever works.
pub(crate) fn passing() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Prints a row: the software GPU's time, what it is held against, their ratio, and whether the bar is reached.
pub(crate) fn row(what: &str, soft: Duration, beside: Duration, bar: Bar) {
    let [soft_us, beside_us] = [soft, beside].map(|time| time.as_secs_f64() * 1e6);
    let (ratio, good) = match bar {
        Bar::AtMost(most) => (soft_us / beside_us, soft_us / beside_us <= most),
        Bar::AtLeast(least) => (beside_us / soft_us, beside_us / soft_us >= least),
    };
    let bar = match bar {
        Bar::AtMost(most) => format!("<= {most}x"),
        Bar::AtLeast(least) => format!(">= {least}x"),
    };
    println!(
        "{what:<44}{:>12}{:>14}{:>9}   {bar} {}",
        format!("{soft_us:.1} µs"),
        format!("{beside_us:.1} µs"),
        format!("{ratio:.2}x"),
        verdict(good)
    );
}

/// Prints a row that is held against nothing.
pub(crate) fn figure(what: &str, figure: &str, bar: &str, good: bool) {
    println!(
        "{what:<44}{figure:>12}{:>14}{:>9}   {bar} {}",
        "",
        "",
        verdict(good)
    );
}

/// A bar for a ratio.
#[derive(Clone, Copy)]
pub(crate) enum Bar {
    /// So many times as long as the other at most.
    AtMost(f64),
    /// So many times as fast as the other at least.
    AtLeast(f64),
}

fn verdict(good: bool) -> &'static str {
    if good { "reached" } else { "MISSED" }
}
