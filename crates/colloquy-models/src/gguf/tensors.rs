//! The tensor table of a GGUF file: how many parameters it has and whether its data is all there.

use std::io::{Read, Seek};

use super::{GgufError, wire::Wire};

/// More dimensions than any tensor has.
const DIMENSIONS_MAX: u32 = 4;

/// Walks the table of `n_tensors` entries and gives the number of parameters.
///
/// Fails when the data of a tensor reaches past the end of the file. The table is not kept: it is
/// as long as the file says, and only its sums are wanted.
pub(super) fn check<R: Read + Seek>(
    wire: &mut Wire<R>,
    n_tensors: u64,
    alignment: u64,
) -> Result<u64, GgufError> {
    let mut n_parameters = 0_u64;
    let mut data_bytes = 0_u128;
    for _ in 0..n_tensors {
        wire.skip_string()?;
        let n_elements = elements(wire)?;
        let kind = wire.u32()?;
        let offset = wire.u64()?;
        n_parameters = n_parameters.saturating_add(n_elements);
        data_bytes = data_bytes.max(u128::from(offset) + bytes(kind, n_elements));
    }
    let start = u128::from(wire.position()).next_multiple_of(u128::from(alignment));
    // A file without tensors (a vocabulary) owes no padding.
    let needed = if n_tensors == 0 { u128::from(wire.position()) } else { start + data_bytes };
    if needed > u128::from(wire.len()) {
        let needed = u64::try_from(needed).unwrap_or(u64::MAX);
        return Err(GgufError::CutShort { needed, found: wire.len() });
    }
    Ok(n_parameters)
}

fn elements<R: Read + Seek>(wire: &mut Wire<R>) -> Result<u64, GgufError> {
    let n_dimensions = wire.u32()?;
    if n_dimensions > DIMENSIONS_MAX {
        return Err(GgufError::Damaged(format!("a tensor has {n_dimensions} dimensions")));
    }
    let mut n_elements = 1_u64;
    for _ in 0..n_dimensions {
        n_elements = n_elements.saturating_mul(wire.u64()?);
    }
    Ok(n_elements)
}

/// The bytes of that many elements; 0 for a type that is newer than this program, whose size is
/// then left to the engine to check.
fn bytes(kind: u32, n_elements: u64) -> u128 {
    block(kind).map_or(0, |(elements, bytes)| u128::from(n_elements).div_ceil(elements) * bytes)
}

/// Elements and bytes of one block of a tensor type, by its number in the file.
fn block(kind: u32) -> Option<(u128, u128)> {
    Some(match kind {
        0 | 26 => (1, 4),
        1 | 25 | 30 => (1, 2),
        24 => (1, 1),
        27 | 28 => (1, 8),
        2 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        9 => (32, 36),
        20 => (32, 18),
        39 => (32, 17),
        40 => (64, 36),
        42 => (64, 18),
        10 => (256, 84),
        11 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        15 => (256, 292),
        16 => (256, 66),
        17 => (256, 74),
        18 => (256, 98),
        19 => (256, 50),
        21 => (256, 110),
        22 => (256, 82),
        23 => (256, 136),
        29 => (256, 56),
        34 => (256, 54),
        35 => (256, 66),
        _ => return None,
    })
}
