//! Reference host.
