//! Which hosts are this machine and which origins are its own. Pure functions of header text.

use std::net::{IpAddr, Ipv6Addr};

use crate::app::Security;

/// Port of an `http` origin or host that names none.
const HTTP_PORT: u16 = 80;

/// A host as a header names it. Names are lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    name: Name,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Ip(IpAddr),
    Dns(String),
}

/// Whether a `Host` header names this machine.
///
/// A server bound to every address has addresses that it cannot list, so there any address
/// literal is its own: a rebound name is never a literal, and such a server asks for a token.
pub(super) fn host_is_ours(security: &Security, host: &str) -> bool {
    let Some(host) = parse(host) else { return false };
    let by_itself = match &host.name {
        Name::Dns(name) => name == "localhost",
        Name::Ip(ip) => {
            ip.is_loopback()
                || security
                    .bound
                    .is_some_and(|bound| bound.ip().is_unspecified() || bound.ip().to_canonical() == *ip)
        }
    };
    by_itself
        || security
            .allowed_hosts
            .iter()
            .filter_map(|allowed| parse(allowed))
            .any(|allowed| allowed.name == host.name && (allowed.port.is_none() || allowed.port == host.port))
}

/// Whether an origin is that of a page which this server itself sent, under that `Host`.
pub(super) fn is_same(origin: &str, host: &str) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let (Some(theirs), Some(ours)) = (parse(authority), parse(host)) else { return false };
    scheme.eq_ignore_ascii_case("http")
        && theirs.name == ours.name
        && theirs.port.unwrap_or(HTTP_PORT) == ours.port.unwrap_or(HTTP_PORT)
}

/// Whether a foreign origin was named as welcome. `null` never is: every sandboxed page has it.
pub(super) fn is_allowed(security: &Security, origin: &str) -> bool {
    origin != "null" && security.allowed_origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
}

/// Reads `name`, `name:port`, `1.2.3.4:port` or `[::1]:port`, and nothing else.
fn parse(text: &str) -> Option<Host> {
    let (name, rest) = match text.strip_prefix('[') {
        Some(literal) => {
            let (address, rest) = literal.split_once(']')?;
            (Name::Ip(IpAddr::V6(address.parse::<Ipv6Addr>().ok()?).to_canonical()), rest)
        }
        None => {
            let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            (dns_or_v4(name)?, rest)
        }
    };
    let port = match rest.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
        None if rest.is_empty() => None,
        Some(_) | None => return None,
    };
    Some(Host { name, port })
}

fn dns_or_v4(name: &str) -> Option<Name> {
    if let Ok(ip) = name.parse() {
        return Some(Name::Ip(IpAddr::V4(ip)));
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    (!name.is_empty() && name.bytes().all(plain)).then(|| Name::Dns(name.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests;
