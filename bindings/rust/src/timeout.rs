//! How long a call may take.
use crate::raw;
use std::time::Duration;

/// A time limit of a call, a group or a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Timeout {
    /// The timeout of the group or the store.
    #[default]
    Default,
    /// For ever.
    Never,
    /// So long.
    After(Duration),
}

impl Timeout {
    /// Milliseconds as C takes them: 0 is the default, so less than one becomes one.
    pub(crate) fn milliseconds(self) -> i64 {
        match self {
            Timeout::Default => 0,
            Timeout::Never => raw::TUTTI_NO_TIMEOUT,
            Timeout::After(limit) => {
                let rounded_up = (limit.as_nanos() + 999_999) / 1_000_000;
                i64::try_from(rounded_up.max(1)).unwrap_or(raw::TUTTI_NO_TIMEOUT)
            }
        }
    }

    pub(crate) fn from_milliseconds(number: i64) -> Timeout {
        match u64::try_from(number) {
            Ok(0) => Timeout::Default,
            Ok(number) => Timeout::After(Duration::from_millis(number)),
            Err(_) => Timeout::Never,
        }
    }
}

impl From<Duration> for Timeout {
    fn from(limit: Duration) -> Timeout {
        Timeout::After(limit)
    }
}
