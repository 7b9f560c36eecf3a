//! Placeholder that the verifier replaces.
