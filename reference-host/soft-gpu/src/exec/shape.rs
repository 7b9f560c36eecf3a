//! Which registers an operation of each shape reads and writes, for passes over lowered code.

/// A register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    R32,
    R64,
    Pred,
}

/// The operands of a shape: the file of the destination, and of each source that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) d: Class,
    pub(crate) a: Option<Class>,
    pub(crate) b: Option<Class>,
    pub(crate) c: Option<Class>,
    /// A fourth source, unless [`Shape::writes_e`].
    pub(crate) e: Option<Class>,
    /// `e` is a second destination.
    pub(crate) writes_e: bool,
}

const R: Option<Class> = Some(Class::R32);
const D: Option<Class> = Some(Class::R64);
const P: Option<Class> = Some(Class::Pred);

/// One constructor a shape, named as the shape's executor in [`super::lanes`].
macro_rules! shapes {
    ($( $name:ident: $d:ident <- $a:expr, $b:expr, $c:expr, $e:expr; )*) => { $(
        pub(crate) const fn $name() -> Self {
            Self { d: Class::$d, a: $a, b: $b, c: $c, e: $e, writes_e: false }
        }
    )* };
}

impl Shape {
    shapes! {
        r1: R32 <- R, None, None, None;
        r2: R32 <- R, R, None, None;
        r3: R32 <- R, R, R, None;
        r4: R32 <- R, R, R, R;
        d1: R64 <- D, None, None, None;
        d2: R64 <- D, D, None, None;
        d3: R64 <- D, D, D, None;
        d1r1: R64 <- D, R, None, None;
        d1r2: R64 <- D, R, R, None;
        d2r1: R64 <- D, D, R, None;
        d2r2: R64 <- D, D, R, R;
        widen1: R64 <- R, None, None, None;
        widen2: R64 <- R, R, None, None;
        widen3: R64 <- R, R, D, None;
        narrow1: R32 <- D, None, None, None;
        cmp32: Pred <- R, R, None, None;
        cmp64: Pred <- D, D, None, None;
        test32: Pred <- R, None, None, None;
        test64: Pred <- D, None, None, None;
        predicates: Pred <- P, P, None, None;
        of_pred: R32 <- P, None, None, None;
        select32: R32 <- R, R, P, None;
        select64: R64 <- D, D, P, None;
    }

    pub(crate) const fn carry32() -> Self {
        Self {
            d: Class::R32,
            a: R,
            b: R,
            c: P,
            e: P,
            writes_e: true,
        }
    }

    pub(crate) const fn carry64() -> Self {
        Self {
            d: Class::R64,
            a: D,
            b: D,
            c: P,
            e: P,
            writes_e: true,
        }
    }
}
