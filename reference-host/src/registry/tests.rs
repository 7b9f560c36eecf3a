use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::*;

fn registry(count: u64, bytes: u64) -> Registry<u32> {
    Registry::new(Limits { count, bytes }, Limits::NONE)
}

#[test]
fn ids_are_positive_consecutive_and_never_reused() {
    let registry = registry(2, 100);
    let owner = registry.owner();
    let first = registry.register(owner, 1, Arc::new(0)).unwrap();
    assert!(first.number() >= 1 << 32);
    for step in 1..100 {
        let id = registry.register(owner, 1, Arc::new(step)).unwrap();
        assert_eq!(id.number(), first.number() + i64::from(step));
        assert_eq!(registry.remove(owner, id).as_deref(), Some(&step));
        assert_eq!(registry.remove(owner, id), None);
        assert_eq!(registry.lookup(owner, id), None);
    }
}

#[test]
fn two_registries_start_at_different_points() {
    let starts: Vec<_> = (0..8)
        .map(|_| {
            let registry = registry(1, 1);
            registry
                .register(registry.owner(), 1, Arc::new(0))
                .unwrap()
                .number()
        })
        .collect();
    assert!(starts.iter().all(|start| *start > 0));
    assert!(
        starts
            .windows(2)
            .any(|pair| pair[0].abs_diff(pair[1]) > 1 << 40),
        "{starts:?}"
    );
}

#[test]
fn caps_are_exact_and_a_refusal_changes_nothing() {
    let registry = registry(3, 10);
    let owner = registry.owner();
    let full = registry.register(owner, 10, Arc::new(0)).unwrap();
    let refused = registry.register(owner, 1, Arc::new(0)).unwrap_err();
    assert_eq!(
        refused,
        OverLimit::Bytes {
            whose: "this instance",
            limit: 10,
            used: 10,
            asked: 1
        }
    );
    assert_eq!(
        registry.usage_of(owner),
        Usage {
            count: 1,
            bytes: 10
        }
    );
    assert!(registry.remove(owner, full).is_some());
    assert!(registry.usage_of(owner) == Usage::default());

    let held: Vec<_> = (0..3)
        .map(|_| registry.register(owner, 0, Arc::new(0)).unwrap())
        .collect();
    let refused = registry.register(owner, 0, Arc::new(0)).unwrap_err();
    assert_eq!(
        refused,
        OverLimit::Count {
            whose: "this instance",
            limit: 3
        }
    );
    assert!(registry.remove(owner, held[1]).is_some());
    assert!(registry.register(owner, 10, Arc::new(0)).is_ok());
    assert!(registry.reserve(owner, u64::MAX).is_err());
}

#[test]
fn an_owner_sees_and_fills_only_its_own() {
    let registry = Registry::<u32>::new(
        Limits {
            count: 2,
            bytes: 10,
        },
        Limits {
            count: 3,
            bytes: 15,
        },
    );
    let (a, b) = (registry.owner(), registry.owner());
    let of_a = registry.register(a, 10, Arc::new(1)).unwrap();
    assert_eq!(registry.lookup(b, of_a), None);
    assert_eq!(registry.remove(b, of_a), None);
    assert_eq!(registry.lookup(a, of_a).as_deref(), Some(&1));
    assert!(registry.register(b, 5, Arc::new(2)).is_ok());
    let refused = registry.register(b, 1, Arc::new(3)).unwrap_err();
    assert_eq!(
        refused,
        OverLimit::Bytes {
            whose: "this host",
            limit: 15,
            used: 15,
            asked: 1
        }
    );
    registry.remove_owner(a);
    assert_eq!(registry.usage(), Usage { count: 1, bytes: 5 });
    assert!(registry.register(b, 1, Arc::new(3)).is_ok());
}

#[test]
fn a_reservation_without_a_value_gives_its_quota_back() {
    let registry = registry(1, 10);
    let owner = registry.owner();
    let reservation = registry.reserve(owner, 10).unwrap();
    assert!(registry.reserve(owner, 0).is_err());
    assert_eq!(registry.usage_of(owner).count, 1);
    // An owner that ends takes its entries along, and leaves what is still reserved to the reservation.
    registry.remove_owner(owner);
    assert_eq!(
        registry.usage(),
        Usage {
            count: 1,
            bytes: 10
        }
    );
    drop(reservation);
    assert_eq!(registry.usage(), Usage::default());
    assert!(registry.register(registry.owner(), 10, Arc::new(0)).is_ok());
}

#[test]
fn an_owner_that_has_ended_holds_nothing_and_is_not_mistaken_for_the_next() {
    let registry = registry(2, 20);
    let ended = registry.owner();
    let late = registry.reserve(ended, 10).unwrap();
    registry.remove_owner(ended);
    let next = registry.owner();
    let id = registry.register(next, 5, Arc::new(7)).unwrap();

    assert_eq!(
        registry.register(ended, 0, Arc::new(0)),
        Err(OverLimit::ENDED)
    );
    assert_eq!(registry.lookup(ended, id), None);
    assert_eq!(registry.remove(ended, id), None);
    assert_eq!(registry.usage_of(ended), Usage::default());
    // A value that comes too late is dropped, and its quota with it.
    let lost = late.commit(Arc::new(0));
    assert_eq!(registry.lookup(ended, lost), None);
    assert_eq!(registry.lookup(next, lost), None);
    // Ending twice does not end the owner that has the place now.
    registry.remove_owner(ended);
    assert_eq!(registry.lookup(next, id).as_deref(), Some(&7));
    assert_eq!(registry.usage(), Usage { count: 1, bytes: 5 });
}

/// Counts its own drops.
struct Tracked<'a>(&'a AtomicUsize);

impl Drop for Tracked<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_handle_outlives_its_entry_and_the_value_goes_with_the_last_holder() {
    let drops = AtomicUsize::new(0);
    let registry = Registry::new(Limits::NONE, Limits::NONE);
    let owner = registry.owner();
    let id = registry
        .register(owner, 1, Arc::new(Tracked(&drops)))
        .unwrap();
    let handle = registry.lookup(owner, id).unwrap();
    drop(registry.remove(owner, id));
    assert_eq!(
        (registry.usage(), drops.load(Ordering::SeqCst)),
        (Usage::default(), 0)
    );
    drop(handle);
    assert_eq!(drops.load(Ordering::SeqCst), 1);

    registry
        .register(owner, 1, Arc::new(Tracked(&drops)))
        .unwrap();
    registry.remove_owner(owner);
    assert_eq!(drops.load(Ordering::SeqCst), 2);
}

#[test]
fn eight_threads_at_the_cap_never_pass_it() {
    const THREADS: usize = 8;
    const ROUNDS: usize = 4000;
    const CAP: u64 = 16;
    let registry = Registry::<u32>::new(
        Limits {
            count: CAP,
            bytes: CAP * 4,
        },
        Limits::NONE,
    );
    let owner = registry.owner();
    // Entries that exist by the threads' own account: raised after a success, lowered before a removal, so it
    // never exceeds what the registry holds.
    let live = AtomicUsize::new(0);
    let (refusals, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut held = Vec::new();
                for round in 0..ROUNDS {
                    match registry.register(owner, 4, Arc::new(0)) {
                        Ok(id) => {
                            let now = live.fetch_add(1, Ordering::SeqCst) + 1;
                            if now as u64 > CAP || registry.usage_of(owner).count > CAP {
                                over.store(true, Ordering::SeqCst);
                            }
                            held.push(id);
                        }
                        Err(_) => {
                            refusals.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                    // Each thread wants the whole cap for itself, so that it is fought over however they run.
                    if (held.len() as u64 == CAP || round % 3 == 0)
                        && let Some(id) = held.pop()
                    {
                        live.fetch_sub(1, Ordering::SeqCst);
                        assert!(registry.remove(owner, id).is_some());
                    }
                    if round % 16 == 0 {
                        drop(registry.reserve(owner, 4));
                    }
                }
                for id in held {
                    live.fetch_sub(1, Ordering::SeqCst);
                    assert!(registry.remove(owner, id).is_some());
                }
            });
        }
    });
    assert!(
        !over.load(Ordering::SeqCst),
        "more than {CAP} entries at once"
    );
    assert!(
        refusals.load(Ordering::SeqCst) > 0,
        "the cap was never reached"
    );
    assert_eq!(registry.usage_of(owner), Usage { count: 0, bytes: 0 });
    assert_eq!(registry.usage(), Usage::default());
    for _ in 0..CAP {
        assert!(registry.register(owner, 4, Arc::new(0)).is_ok());
    }
    assert!(registry.register(owner, 4, Arc::new(0)).is_err());
}

#[test]
fn eight_owners_that_come_and_go_never_pass_the_budget_together() {
    const THREADS: usize = 8;
    const ROUNDS: usize = 2000;
    const BUDGET: u64 = 12;
    let registry = Registry::<u32>::new(
        Limits {
            count: 4,
            bytes: 16,
        },
        Limits {
            count: BUDGET,
            bytes: BUDGET * 4,
        },
    );
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (registry, over) = (&registry, &over);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let owner = registry.owner();
                    // One more than an owner may hold, and not always room for as many.
                    for entry in 0..5 {
                        let stored = if (thread + round + entry) % 2 == 0 {
                            registry.register(owner, 4, Arc::new(0))
                        } else {
                            registry
                                .reserve(owner, 4)
                                .map(|quota| quota.commit(Arc::new(0)))
                        };
                        let usage = registry.usage();
                        if usage.count > BUDGET || usage.bytes != usage.count * 4 {
                            over.store(true, Ordering::SeqCst);
                        }
                        match stored {
                            Ok(id) => assert!(registry.lookup(owner, id).is_some()),
                            Err(OverLimit::Count { limit: 4, .. }) => {
                                assert_eq!(registry.usage_of(owner).count, 4)
                            }
                            Err(_) => {}
                        }
                    }
                    registry.remove_owner(owner);
                    assert!(registry.usage_of(owner) == Usage::default());
                }
            });
        }
    });
    assert!(!over.load(Ordering::SeqCst));
    assert_eq!(registry.usage(), Usage::default());
    // However the threads ran, the budget is whole again: three owners fill it, a fourth gets nothing.
    for _ in 0..3 {
        let owner = registry.owner();
        assert!((0..4).all(|_| registry.register(owner, 4, Arc::new(0)).is_ok()));
    }
    assert!(registry.register(registry.owner(), 4, Arc::new(0)).is_err());
}
