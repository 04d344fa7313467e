//! Frames as AWS writes them, for tests.

/// A frame of an event of that type.
pub(crate) fn event(event_type: &str, payload: &str) -> Vec<u8> {
    let headers =
        [(":event-type", event_type), (":content-type", "application/json"), (":message-type", "event")];
    frame(&text_headers(&headers), payload.as_bytes())
}

/// A frame of an exception of that type.
pub(crate) fn exception(exception_type: &str, payload: &str) -> Vec<u8> {
    let headers = [
        (":exception-type", exception_type),
        (":content-type", "application/json"),
        (":message-type", "exception"),
    ];
    frame(&text_headers(&headers), payload.as_bytes())
}

/// Headers whose values are text.
pub(crate) fn text_headers(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in headers {
        bytes.push(u8::try_from(name.len()).unwrap());
        bytes.extend(name.as_bytes());
        bytes.push(7);
        bytes.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        bytes.extend(value.as_bytes());
    }
    bytes
}

/// A frame of these headers, already in their form, and this payload.
pub(crate) fn frame(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let n_frame = u32::try_from(16 + headers.len() + payload.len()).unwrap();
    let n_headers = u32::try_from(headers.len()).unwrap();
    let mut bytes = [n_frame.to_be_bytes(), n_headers.to_be_bytes()].concat();
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    bytes.extend(headers);
    bytes.extend(payload);
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    bytes
}
