//! Lists that grow by an eighth: they hold an entry for every few bytes of source, and doubling them would double what the source costs.

/// Appends `item`.
pub(crate) fn push<T>(pool: &mut Vec<T>, item: T) {
    if pool.len() == pool.capacity() {
        let more = (pool.len() / 8).max(LEAST);
        pool.reserve_exact(more);
    }
    pool.push(item);
}

/// Room for this many more entries at least.
const LEAST: usize = 8;
