//! The check of invariant I3 on the bytes of recorded requests.

/// Panics unless each request, up to the end of its messages, is a byte prefix of the next one.
///
/// A request is the body of a chat-completions call whose first member is `messages`.
#[track_caller]
pub fn assert_prefix_stable(requests: &[Vec<u8>]) {
    for (index, pair) in requests.windows(2).enumerate() {
        let (before, after) = (messages_of(&pair[0]), messages_of(&pair[1]));
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
fn messages_of(request: &[u8]) -> &[u8] {
    const OPENING: &[u8] = br#"{"messages":["#;
    assert!(
        request.starts_with(OPENING),
        "a request must begin with its messages, but begins with {}",
        excerpt(request, 0)
    );
    let mut depth = 1;
    let mut in_string = false;
    let mut escaped = false;
    for (offset, byte) in request[OPENING.len()..].iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &request[..OPENING.len() + offset];
        }
    }
    panic!("the messages of a request do not end: {}", excerpt(request, request.len()));
}

fn excerpt(bytes: &[u8], at: usize) -> String {
    let around = &bytes[at.saturating_sub(40).min(bytes.len())..(at + 40).min(bytes.len())];
    String::from_utf8_lossy(around).into_owned()
}

#[cfg(test)]
mod tests;
