//! Mistakes in the names and types of the import module.

use wasi_cuda_host::abi::{Import, RESERVED_IMPORT};

use super::{Deviant, Flaw, Linking};

pub(super) const DEVIANTS: &[Deviant] = &[
    without("link-without-load-ptx", Import::LoadPtx),
    without("link-without-launch", Import::Launch),
    without("link-without-sync", Import::Sync),
    without("link-without-last-error-len", Import::LastErrorLen),
    without("link-without-last-error-copy", Import::LastErrorCopy),
    without("link-without-alloc", Import::Alloc),
    without("link-without-free", Import::Free),
    without("link-without-memcpy-h2d", Import::MemcpyH2d),
    without("link-without-memcpy-d2h", Import::MemcpyD2h),
    any_type("link-any-type-load-ptx", Import::LoadPtx),
    any_type("link-any-type-launch", Import::Launch),
    any_type("link-any-type-sync", Import::Sync),
    any_type("link-any-type-last-error-len", Import::LastErrorLen),
    any_type("link-any-type-last-error-copy", Import::LastErrorCopy),
    any_type("link-any-type-alloc", Import::Alloc),
    any_type("link-any-type-free", Import::Free),
    any_type("link-any-type-memcpy-h2d", Import::MemcpyH2d),
    any_type("link-any-type-memcpy-d2h", Import::MemcpyD2h),
    Deviant::with(
        "link-reserved-name",
        &["link.reserved-name"],
        "still defines the deprecated last_error_ptr",
        Flaw::Linking(Linking::Extra(RESERVED_IMPORT)),
    ),
    Deviant::with(
        "link-any-name",
        &["link.closed"],
        "defines every name that a module asks for",
        Flaw::Linking(Linking::AnyName),
    ),
];

const fn without(name: &'static str, import: Import) -> Deviant {
    Deviant::with(
        name,
        &["link.imports"],
        "lacks one of the nine imports",
        Flaw::Linking(Linking::Without(import)),
    )
}

const fn any_type(name: &'static str, import: Import) -> Deviant {
    Deviant::with(
        name,
        &["link.signatures"],
        "links one of the nine imports with whatever type a module gives it",
        Flaw::Linking(Linking::AnyType(import)),
    )
}
