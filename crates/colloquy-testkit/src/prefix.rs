//! The check of invariant I3 on the bytes of recorded requests.

/// Panics unless each request, up to the end of its messages, is a byte prefix of the next one.
///
/// A request is the JSON body of a call in any wire: all that stands before the end of its list of
/// `messages` (`input`, on the Responses API) must stay, whatever it is.
#[track_caller]
pub fn assert_prefix_stable(requests: &[Vec<u8>]) {
    for (index, pair) in requests.windows(2).enumerate() {
        let (before, after) = (up_to_last_message(&pair[0]), up_to_last_message(&pair[1]));
        let n_common = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        assert!(
            n_common == before.len(),
            "request {} is no prefix of request {}; they part at byte {n_common}:\n  {}\n  {}",
            index + 1,
            index + 2,
            excerpt(before, n_common),
            excerpt(after, n_common),
        );
    }
}

/// A request up to its last message: everything before the bracket that closes the list.
#[track_caller]
fn up_to_last_message(request: &[u8]) -> &[u8] {
    let mut depth = 0_usize;
    let mut string_start = None;
    let mut is_escaped = false;
    // The last string outside of any value but the body's, which is the name before a value.
    let mut name: &[u8] = b"";
    let mut is_in_messages = false;
    for (offset, byte) in request.iter().enumerate() {
        if let Some(start) = string_start {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => {
                    string_start = None;
                    if depth == 1 {
                        name = &request[start..offset];
                    }
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => string_start = Some(offset + 1),
            b'[' | b'{' => {
                is_in_messages |= depth == 1 && *byte == b'[' && matches!(name, b"messages" | b"input");
                depth += 1;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if is_in_messages && depth == 1 {
                    return &request[..offset];
                }
            }
            _ => {}
        }
    }
    assert!(
        is_in_messages,
        "a request must hold a list of messages or input, but is {}",
        excerpt(request, 0)
    );
    panic!("the messages of a request do not end: {}", excerpt(request, request.len()));
}

fn excerpt(bytes: &[u8], at: usize) -> String {
    let around = &bytes[at.saturating_sub(40).min(bytes.len())..(at + 40).min(bytes.len())];
    String::from_utf8_lossy(around).into_owned()
}

#[cfg(test)]
mod tests;
