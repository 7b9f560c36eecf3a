//! Discovery: the addresses of functions by name and version.

use std::ffi::{c_char, c_int, c_ulonglong, c_void};

use crate::api;
use crate::call::{api, put, put_wanted, text};
use crate::device::DRIVER_VERSION;
use crate::error::Error;

api! {
    /// The address of a function in the form that programs of a version know; null where there is none, and why.
    early fn cuGetProcAddress_v2(
        name: *const c_char,
        address: *mut *mut c_void,
        version: c_int,
        flags: c_ulonglong,
        status: *mut c_int,
    ) {
        // SAFETY: null, or the program's string.
        let name = unsafe { text(name) }?;
        if address.is_null() || name.is_empty() {
            return Err(Error::InvalidValue);
        }
        let (found, why) = match find(name, version, flags)? {
            Found::Function(found) => (found, SUCCESS),
            Found::Nothing => (std::ptr::null(), SYMBOL_NOT_FOUND),
            Found::Later => (std::ptr::null(), VERSION_NOT_SUFFICIENT),
        };
        // SAFETY: null, or the program's place for a status.
        unsafe { put_wanted(status, why) };
        // SAFETY: not null: the program's place for an address.
        unsafe { put(address, found.cast_mut().cast()) }
    }

    /// The address of a function in the form that programs of a version know.
    early fn cuGetProcAddress(
        name: *const c_char,
        address: *mut *mut c_void,
        version: c_int,
        flags: c_ulonglong,
    ) {
        // SAFETY: null, or the program's string.
        let name = unsafe { text(name) }?;
        if address.is_null() || name.is_empty() {
            return Err(Error::InvalidValue);
        }
        let Found::Function(found) = find(name, version, flags)? else {
            // SAFETY: not null: the program's place for an address.
            unsafe { put(address, std::ptr::null_mut()) }?;
            return Err(Error::NotFound);
        };
        // SAFETY: not null: the program's place for an address.
        unsafe { put(address, found.cast_mut().cast()) }
    }
}

/// What there is of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Function(*const ()),
    /// No function has this name.
    Nothing,
    /// One has, but only for programs of a later version.
    Later,
}

/// Looks a function up by the name that programs write, which is without the suffix of its form.
///
/// Forms for default streams of threads have no symbols of their own, in which case the driver API gives the plain form.
fn find(name: &[u8], version: c_int, flags: c_ulonglong) -> Result<Found, Error> {
    if flags > PER_THREAD_DEFAULT_STREAM || version > DRIVER_VERSION {
        return Err(Error::InvalidValue);
    }
    let forms = VERSIONS.lines().filter_map(Form::parse);
    let mut found = Found::Nothing;
    // They stand in the order of their versions.
    for form in forms {
        if form.name.as_bytes() != name {
            continue;
        }
        if form.since > version {
            return Ok(match found {
                Found::Nothing => Found::Later,
                found => found,
            });
        }
        if let Some(address) = address(form.symbol) {
            found = Found::Function(address);
        }
    }
    Ok(found)
}

/// A line of [`VERSIONS`].
struct Form {
    name: &'static str,
    since: c_int,
    symbol: &'static str,
}

impl Form {
    fn parse(line: &'static str) -> Option<Self> {
        let mut words = line.split(' ');
        Some(Self {
            name: words.next()?,
            since: words.next()?.parse().ok()?,
            symbol: words.next()?,
        })
    }
}

fn address(symbol: &str) -> Option<*const ()> {
    let mut exports = api::EXPORTS.iter().flat_map(|(_, exports)| *exports);
    let export = exports.find(|export| export.name == symbol)?;
    Some(export.address)
}

/// For each function and version that changed it: the version, as `cuDriverGetVersion` has them, and the symbol of its form then.
const VERSIONS: &str = include_str!("versions.txt");
/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`; the other flags are less.
const PER_THREAD_DEFAULT_STREAM: c_ulonglong = 2;
/// `CU_GET_PROC_ADDRESS_SUCCESS`
const SUCCESS: c_int = 0;
/// `CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`
const SYMBOL_NOT_FOUND: c_int = 1;
/// `CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT`
const VERSION_NOT_SUFFICIENT: c_int = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found_by_its_name_in_the_form_of_its_version() {
        let mut count = 0;
        for line in VERSIONS.lines() {
            let form = Form::parse(line);
            assert!(form.is_some(), "{line}");
            let Some(form) = form else { continue };
            let expected = address(form.symbol);
            assert!(expected.is_some(), "{line}");
            let found = find(form.name.as_bytes(), form.since, 0);
            assert_eq!(found.ok(), expected.map(Found::Function), "{line}");
            count += 1;
        }
        assert!(count > 500, "{count} forms");
    }

    #[test]
    fn forms_are_chosen_by_version() {
        let of = |name: &[u8], version| find(name, version, 0);
        let symbol = |name| address(name).map(Found::Function);
        for (version, form) in [
            (3020, "cuCtxCreate_v2"),
            (11_000, "cuCtxCreate_v2"),
            (11_040, "cuCtxCreate_v3"),
            (12_040, "cuCtxCreate_v3"),
            (13_050, "cuCtxCreate_v4"),
        ] {
            assert_eq!(of(b"cuCtxCreate", version).ok(), symbol(form));
        }
        assert_eq!(of(b"cuCtxCreate", 1000), Ok(Found::Later));
        assert_eq!(of(b"cuLibraryLoadData", 11_080), Ok(Found::Later));
        assert_eq!(of(b"cuCtxCreate_v2", 13_050), Ok(Found::Nothing));
        assert_eq!(of(b"cuNothing", 13_050), Ok(Found::Nothing));
        assert_eq!(of(b"cuInit", 13_060), Err(Error::InvalidValue));
        assert_eq!(find(b"cuInit", 13_050, 3), Err(Error::InvalidValue));
    }
}
