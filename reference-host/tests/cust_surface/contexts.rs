use cust::context::legacy::{self, ContextStack};
use cust::context::{
    CacheConfig, Context, ContextFlags, ContextHandle, CurrentContext, ResourceLimit,
    SharedMemoryConfig,
};
use cust::error::CudaError;

use crate::{device, enter};

#[test]
fn the_primary_context_is_one() {
    let first = enter();
    let second = enter();
    let clone = first.clone();
    assert_eq!(first.as_raw(), second.as_raw());
    assert_eq!(first.as_raw(), clone.as_raw());
    assert!(first.get_api_version().expect("a version").major() >= 3);
    assert_eq!(
        CurrentContext::get_device().expect("its device").as_raw(),
        device().as_raw()
    );
    assert_eq!(Context::drop(clone).map_err(|(error, _)| error), Ok(()));
    drop(second);
    assert_eq!(CurrentContext::synchronize(), Ok(()));
    CurrentContext::set_current(&first).expect("it is live");
    assert_eq!(
        first.set_flags(ContextFlags::SCHED_AUTO),
        Ok(()),
        "flags of one that is active"
    );
}

#[test]
fn what_is_set_is_what_is_there() {
    // In a context of its own: other tests share the primary one.
    device();
    let _own = own();
    let flags = CurrentContext::get_flags().expect("flags");
    assert!(flags.contains(ContextFlags::SCHED_YIELD), "{flags:?}");
    for config in [
        CacheConfig::PreferL1,
        CacheConfig::PreferShared,
        CacheConfig::PreferEqual,
        CacheConfig::PreferNone,
    ] {
        assert_eq!(CurrentContext::set_cache_config(config), Ok(()));
        assert_eq!(CurrentContext::get_cache_config(), Ok(config));
    }
    for config in [
        SharedMemoryConfig::EightByteBankSize,
        SharedMemoryConfig::FourByteBankSize,
    ] {
        assert_eq!(CurrentContext::set_shared_memory_config(config), Ok(()));
        CurrentContext::get_shared_memory_config().expect("what a device makes of it");
    }
    let range = CurrentContext::get_stream_priority_range().expect("a range");
    assert_eq!((range.least, range.greatest), (0, -5));
    for limit in [ResourceLimit::StackSize, ResourceLimit::MallocHeapSize] {
        let before = CurrentContext::get_resource_limit(limit).expect("a limit");
        assert_eq!(CurrentContext::set_resource_limit(limit, 64 << 10), Ok(()));
        let after = CurrentContext::get_resource_limit(limit).expect("a limit");
        assert!(after >= 64 << 10 && before > 0, "{limit:?}: {after}");
    }
    assert!(CurrentContext::get_resource_limit(ResourceLimit::PrintfFifoSize).is_ok());
    assert!(CurrentContext::get_resource_limit(ResourceLimit::MaxL2FetchGranularity).is_ok());
    assert_eq!(
        CurrentContext::get_resource_limit(ResourceLimit::DeviceRuntimeSynchronizeDepth),
        Err(CudaError::UnsupportedLimit)
    );
}

fn own() -> legacy::Context {
    legacy::Context::create_and_push(legacy::ContextFlags::SCHED_YIELD, device())
        .expect("a context")
}

#[test]
fn the_stack_of_contexts() {
    device();
    let current = || {
        let context = legacy::CurrentContext::get_current().expect("one, or none");
        context.get_inner()
    };
    assert!(current().is_null());
    assert_eq!(
        legacy::CurrentContext::synchronize(),
        Err(CudaError::InvalidContext)
    );
    assert_eq!(
        ContextStack::pop().err(),
        Some(CudaError::InvalidContext),
        "an empty stack"
    );
    let [first, second] = [own(), own()];
    assert_ne!(first.get_inner(), second.get_inner());
    assert_eq!(current(), second.get_inner());
    let popped = ContextStack::pop().expect("the second");
    assert_eq!(popped.get_inner(), second.get_inner());
    assert!(popped.get_api_version().is_ok());
    assert_eq!(current(), first.get_inner());
    ContextStack::push(&popped).expect("it is live");
    assert_eq!(current(), second.get_inner());
    legacy::CurrentContext::set_current(&first.get_unowned()).expect("it is live");
    assert_eq!(current(), first.get_inner());
    assert!(first.get_api_version().is_ok());
    // On another thread none is current, and any may be made so.
    let shared = second.get_unowned();
    std::thread::spawn(move || {
        assert!(
            legacy::CurrentContext::get_current()
                .expect("none")
                .get_inner()
                .is_null()
        );
        legacy::CurrentContext::set_current(&shared).expect("it is live");
        legacy::CurrentContext::synchronize().expect("nothing to wait for");
    })
    .join()
    .expect("the thread ends well");
    // Destroyed contexts are told apart from none.
    let dangling = second.get_unowned();
    assert!(legacy::Context::drop(second).is_ok());
    assert!(ContextStack::push(&dangling).is_err());
    assert!(legacy::CurrentContext::set_current(&dangling).is_err());
    assert!(dangling.get_api_version().is_err());
    assert_eq!(current(), first.get_inner());
}

#[test]
fn the_legacy_settings() {
    device();
    let _own = own();
    use legacy::CurrentContext as Current;
    assert!(Current::set_cache_config(legacy::CacheConfig::PreferL1).is_ok());
    assert_eq!(
        Current::get_cache_config(),
        Ok(legacy::CacheConfig::PreferL1)
    );
    assert_eq!(
        Current::get_device().expect("its device").as_raw(),
        device().as_raw()
    );
    assert!(
        Current::get_flags()
            .expect("flags")
            .contains(legacy::ContextFlags::SCHED_YIELD)
    );
    assert!(Current::set_resource_limit(legacy::ResourceLimit::StackSize, 4096).is_ok());
    assert!(
        Current::get_resource_limit(legacy::ResourceLimit::StackSize).expect("a limit") >= 4096
    );
    assert!(
        Current::set_shared_memory_config(legacy::SharedMemoryConfig::FourByteBankSize).is_ok()
    );
    assert!(Current::get_shared_memory_config().is_ok());
    let range = Current::get_stream_priority_range().expect("a range");
    assert_eq!((range.least, range.greatest), (0, -5));
}
