//! Signature Version 4, by the crate that the AWS SDK itself signs with.
//!
//! Host, date and session token are signed, and the body by its digest; headers that are set
//! elsewhere are not, so that nothing on the way to the server can spoil the signature.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials as AwsCredentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use colloquy_core::{message::TimeMs, turn::Failure};

use super::Credentials;

/// A request by `POST`, before it is signed.
pub(super) struct Unsigned<'a> {
    pub(super) url: &'a str,
    pub(super) body: &'a [u8],
    pub(super) service: &'static str,
    pub(super) at: TimeMs,
}

impl Unsigned<'_> {
    /// The headers that carry the signature; values are secret.
    pub(super) fn sign(
        &self,
        credentials: &Credentials,
        region: &str,
    ) -> Result<Vec<(&'static str, String)>, Failure> {
        let Credentials { access_key_id, secret_access_key, session_token } = credentials;
        let identity =
            AwsCredentials::new(access_key_id, secret_access_key, session_token.clone(), None, "colloquy")
                .into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name(self.service)
            .time(SystemTime::UNIX_EPOCH + Duration::from_millis(self.at.try_into().unwrap_or(0)))
            .settings(SigningSettings::default())
            .build()
            .expect("BUG: every parameter is set")
            .into();
        let body = SignableBody::Bytes(self.body);
        let signed = SignableRequest::new("POST", self.url, std::iter::empty(), body)
            .and_then(|request| sign(request, &parameters));
        let (instructions, _signature) = signed.map_err(|_| unsignable())?.into_parts();
        let (headers, _parameters_of_the_url) = instructions.into_parts();
        Ok(headers.iter().map(|header| (header.name(), header.value().to_owned())).collect())
    }
}

/// The crate's own words may hold what could not be signed.
fn unsignable() -> Failure {
    let detail = "the request cannot be signed: check the base URL and the session token of the endpoint";
    Failure::Refused { detail: detail.to_owned() }
}

#[cfg(test)]
mod tests;
