//! Mistakes in the names and types of the import module.

use wasi_cuda_host::abi::{Import, RESERVED_IMPORT};

use super::{Deviant, Flaw, Linking};

pub(super) const DEVIANTS: &[Deviant] = &[
    without("link-without-load-ptx", "lacks load_ptx", Import::LoadPtx),
    without("link-without-launch", "lacks launch", Import::Launch),
    without("link-without-sync", "lacks sync", Import::Sync),
    without(
        "link-without-last-error-len",
        "lacks last_error_len",
        Import::LastErrorLen,
    ),
    without(
        "link-without-last-error-copy",
        "lacks last_error_copy",
        Import::LastErrorCopy,
    ),
    without("link-without-alloc", "lacks alloc", Import::Alloc),
    without("link-without-free", "lacks free", Import::Free),
    without(
        "link-without-memcpy-h2d",
        "lacks memcpy_h2d",
        Import::MemcpyH2d,
    ),
    without(
        "link-without-memcpy-d2h",
        "lacks memcpy_d2h",
        Import::MemcpyD2h,
    ),
    any_type(
        "link-any-type-load-ptx",
        "links load_ptx with whatever type a module gives it",
        Import::LoadPtx,
    ),
    any_type(
        "link-any-type-launch",
        "links launch with whatever type a module gives it",
        Import::Launch,
    ),
    any_type(
        "link-any-type-sync",
        "links sync with whatever type a module gives it",
        Import::Sync,
    ),
    any_type(
        "link-any-type-last-error-len",
        "links last_error_len with whatever type a module gives it",
        Import::LastErrorLen,
    ),
    any_type(
        "link-any-type-last-error-copy",
        "links last_error_copy with whatever type a module gives it",
        Import::LastErrorCopy,
    ),
    any_type(
        "link-any-type-alloc",
        "links alloc with whatever type a module gives it",
        Import::Alloc,
    ),
    any_type(
        "link-any-type-free",
        "links free with whatever type a module gives it",
        Import::Free,
    ),
    any_type(
        "link-any-type-memcpy-h2d",
        "links memcpy_h2d with whatever type a module gives it",
        Import::MemcpyH2d,
    ),
    any_type(
        "link-any-type-memcpy-d2h",
        "links memcpy_d2h with whatever type a module gives it",
        Import::MemcpyD2h,
    ),
    Deviant::with(
        "link-reserved-name",
        &["link.reserved-name"],
        "still defines the deprecated last_error_ptr",
        Flaw::Linking(Linking::Extra(RESERVED_IMPORT)),
    ),
    Deviant::with(
        "link-any-name",
        &["link.closed", "link.reserved-name"],
        "defines every name that a module asks for",
        Flaw::Linking(Linking::AnyName),
    ),
];

const fn without(name: &'static str, wrong: &'static str, import: Import) -> Deviant {
    Deviant::with(
        name,
        &["link.imports"],
        wrong,
        Flaw::Linking(Linking::Without(import)),
    )
}

const fn any_type(name: &'static str, wrong: &'static str, import: Import) -> Deviant {
    Deviant::with(
        name,
        &["link.signatures"],
        wrong,
        Flaw::Linking(Linking::AnyType(import)),
    )
}
