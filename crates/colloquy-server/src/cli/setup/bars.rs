//! How far an installation is: a bar where a person watches, lines everywhere else.

use std::time::Duration;

use colloquy_models::install::{Progress, Unit};
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::output;

/// A line is written each time a step is that much further, in percent.
const LINE_EVERY: u64 = 10;
const TICK: Duration = Duration::from_millis(120);

/// Shows one step at a time on stderr.
pub(super) struct Bars {
    is_lively: bool,
    step: Option<Step>,
}

struct Step {
    what: String,
    unit: Unit,
    bar: Option<ProgressBar>,
    /// The last percentage that a line told.
    told: u64,
}

impl Bars {
    pub(super) fn new() -> Self {
        Self { is_lively: output::stderr_is_lively(), step: None }
    }
}

impl Progress for Bars {
    fn begin(&mut self, what: &str, unit: Unit, total: Option<u64>) {
        let bar = self.is_lively.then(|| {
            let bar = ProgressBar::new_spinner().with_message(what.to_owned());
            measure(&bar, unit, total);
            bar.enable_steady_tick(TICK);
            bar
        });
        if bar.is_none() {
            output::note(what);
        }
        self.step = Some(Step { what: what.to_owned(), unit, bar, told: 0 });
    }

    fn advance(&mut self, done: u64, total: Option<u64>) {
        let Some(step) = &mut self.step else { return };
        if let Some(bar) = &step.bar {
            if total.is_some() && bar.length() != total {
                measure(bar, step.unit, total);
            }
            bar.set_position(done);
        } else if let Some(percent) = line_due(done, total, step.told) {
            step.told = percent;
            output::note(&format!("{}: {percent}%", step.what));
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.step.take().and_then(|step| step.bar) {
            bar.finish_and_clear();
        }
    }
}

/// Gives a bar its length, or makes a spinner of it while none is known.
fn measure(bar: &ProgressBar, unit: Unit, total: Option<u64>) {
    let template = match (unit, total) {
        (Unit::Unknown, _) | (_, None) => "{spinner} {msg} {elapsed}",
        (Unit::Bytes, Some(_)) => "{msg} {wide_bar} {bytes}/{total_bytes} {eta}",
        (Unit::Parts, Some(_)) => "{msg} {wide_bar} {pos}/{len} {eta}",
    };
    if let Some(total) = total {
        bar.set_length(total);
    }
    bar.set_style(ProgressStyle::with_template(template).expect("BUG: a template of ours is wrong"));
}

/// The percentage that is worth a line, when the last one told was `told`.
fn line_due(done: u64, total: Option<u64>, told: u64) -> Option<u64> {
    let percent = done.saturating_mul(100).checked_div(total?)?;
    (percent >= told + LINE_EVERY).then_some(percent - percent % LINE_EVERY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_due_at_each_tenth_and_never_without_a_total() {
        assert_eq!(line_due(9, Some(100), 0), None);
        assert_eq!(line_due(10, Some(100), 0), Some(10));
        assert_eq!(line_due(57, Some(100), 10), Some(50));
        assert_eq!(line_due(59, Some(100), 50), None);
        assert_eq!(line_due(5, None, 0), None);
        assert_eq!(line_due(5, Some(0), 0), None);
    }

    #[test]
    fn every_template_is_one() {
        for unit in [Unit::Bytes, Unit::Parts, Unit::Unknown] {
            for total in [None, Some(3)] {
                measure(&ProgressBar::hidden(), unit, total);
            }
        }
    }
}
