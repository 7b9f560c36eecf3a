//! Reference host in process.
