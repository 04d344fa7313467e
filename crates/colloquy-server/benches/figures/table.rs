//! One table: the figure, what was measured, its reference in the same run, the limit.

use std::{fmt, time::Duration};

#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Row>);

#[derive(Debug)]
struct Row {
    figure: String,
    measured: String,
    reference: String,
    /// What is compared with the limit.
    value: String,
    limit: String,
    holds: bool,
}

impl Table {
    /// Adds a row and tells it at once, since the whole takes minutes.
    pub(crate) fn row(
        &mut self,
        figure: &str,
        (measured, reference): (String, String),
        (value, limit): (String, String),
        holds: bool,
    ) {
        eprintln!("{figure}: {measured} against {reference}: {value} (limit {limit})");
        self.0.push(Row { figure: figure.into(), measured, reference, value, limit, holds });
    }

    /// A ratio that must not pass a limit.
    pub(crate) fn ratio(&mut self, figure: &str, names: (String, String), ratio: f64, limit: f64) {
        self.row(figure, names, (format!("{ratio:.3} x"), format!("{limit} x")), ratio <= limit);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["figure", "measured", "reference, same run", "value", "limit", ""];
        let rows: Vec<[&str; 6]> = self
            .0
            .iter()
            .map(|row| {
                let verdict = if row.holds { "holds" } else { "MISSED" };
                [&*row.figure, &*row.measured, &*row.reference, &*row.value, &*row.limit, verdict]
            })
            .collect();
        let mut widths = head.map(|title| title.chars().count());
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in std::iter::once(&head).chain(&rows) {
            for (cell, width) in row.iter().zip(widths) {
                write!(f, "{cell:width$}  ")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// The middle one; of an even number the mean of the two in the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
