//! Builds of the operations for more than one processor, chosen at run time.
//!
//! [`pulp`] vouches for what the processor has, which keeps this crate free of `unsafe`. The interpreter's loop is built once a
//! processor for any of them; what touches 32 lanes goes through [`Build::wide`] as a function of its own, which may use wide vectors.

/// Something to do in a function that may use all that a processor has. It captures little, so that it passes in registers.
pub(crate) trait Build: Copy {
    /// The processor multiplies and adds with one rounding.
    const FUSED: bool;

    /// Does `work`.
    fn wide<R>(self, work: impl FnOnce() -> R) -> R;
}

/// What the compiler's target guarantees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guaranteed;

impl Build for Guaranteed {
    const FUSED: bool = cfg!(target_arch = "aarch64");

    #[inline(never)]
    fn wide<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }
}

#[cfg(target_arch = "x86_64")]
impl Build for pulp::x86::V3 {
    const FUSED: bool = true;

    #[inline(always)]
    fn wide<R>(self, work: impl FnOnce() -> R) -> R {
        self.vectorize(work)
    }
}
