//! The WIT file and the ABI table say the same.

use std::error::Error;
use std::path::Path;

use wasi_cuda_host::abi::{AbiError, Import, MODULE, ValueType};
use wit_parser::{Function, InterfaceId, Resolve, Type, TypeDefKind};

const SOURCE: &str = include_str!("../wit/wasi-cuda.wit");

fn interface() -> Result<(Resolve, InterfaceId), Box<dyn Error>> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str(Path::new("wasi-cuda.wit"), SOURCE)?;
    let interface = *resolve.packages[package]
        .interfaces
        .get("host")
        .ok_or("no interface `host`")?;
    Ok((resolve, interface))
}

/// The component view has one function where core modules have two.
const SPLIT: (&str, [Import; 2]) = ("last-error", [Import::LastErrorLen, Import::LastErrorCopy]);

#[test]
fn the_module_name_is_the_package_and_its_version() -> Result<(), Box<dyn Error>> {
    let (resolve, interface) = interface()?;
    let package = resolve.interfaces[interface]
        .package
        .ok_or("the interface has no package")?;
    let name = &resolve.packages[package].name;
    let version = name.version.as_ref().ok_or("the package has no version")?;
    assert_eq!(
        MODULE,
        format!("{}:{}/host@{version}", name.namespace, name.name)
    );
    Ok(())
}

#[test]
fn the_enum_has_the_error_codes_in_order() -> Result<(), Box<dyn Error>> {
    let (resolve, interface) = interface()?;
    let id = resolve.interfaces[interface]
        .types
        .get("abi-error")
        .ok_or("no `abi-error`")?;
    let TypeDefKind::Enum(cases) = &resolve.types[*id].kind else {
        return Err("`abi-error` is no enum".into());
    };
    let in_wit: Vec<_> = (1..)
        .zip(&cases.cases)
        .map(|(code, case)| (-code, case.name.as_str()))
        .collect();
    let in_table: Vec<_> = AbiError::ALL
        .iter()
        .map(|error| (error.code(), error.name()))
        .collect();
    assert_eq!(in_wit, in_table);
    Ok(())
}

#[test]
fn the_functions_are_the_imports() -> Result<(), Box<dyn Error>> {
    let (resolve, interface) = interface()?;
    let functions = &resolve.interfaces[interface].functions;
    for (name, function) in functions {
        if name == SPLIT.0 {
            assert_eq!(function.params.len(), 0);
            assert_eq!(function.result, Some(Type::String));
            continue;
        }
        let core_name = format!("wasi_cuda_{}", name.replace('-', "_"));
        let import = Import::from_name(&core_name)
            .ok_or_else(|| format!("{core_name} is not in the table"))?;
        assert_eq!(
            flatten(&resolve, function)?,
            import.params(),
            "parameters of {name}"
        );
        assert_eq!(
            result(&resolve, function)?,
            import.result(),
            "result of {name}"
        );
    }
    let core_functions = functions.len() - 1 + SPLIT.1.len();
    assert_eq!(core_functions, Import::ALL.len());
    Ok(())
}

#[test]
fn a_world_imports_the_interface() -> Result<(), Box<dyn Error>> {
    let (resolve, interface) = interface()?;
    let imported = resolve.worlds.iter().any(|(_, world)| {
        world.imports.values().any(
            |item| matches!(item, wit_parser::WorldItem::Interface { id, .. } if *id == interface),
        )
    });
    assert!(imported);
    Ok(())
}

#[test]
fn no_merge_left_its_marks() {
    for line in SOURCE.lines() {
        let marks = ["<<<<<<<", "=======", ">>>>>>>", "|||||||"];
        assert!(
            !marks.iter().any(|mark| line.starts_with(mark)),
            "conflict marker: {line}"
        );
    }
}

/// The core parameters that a WIT function's parameters stand for, by the rules the WIT file's opening states.
fn flatten(
    resolve: &Resolve,
    function: &Function,
) -> Result<Vec<(&'static str, ValueType)>, Box<dyn Error>> {
    let mut flat = Vec::new();
    for param in &function.params {
        let name = param.name.replace('-', "_");
        match meaning(resolve, param.ty) {
            Meaning::Kernel => flat.push((name, ValueType::I64)),
            Meaning::Halves => {
                flat.push((format!("{name}_lo"), ValueType::I32));
                flat.push((format!("{name}_hi"), ValueType::I32));
            }
            Meaning::Region => {
                flat.push((format!("{name}_ptr"), ValueType::I32));
                flat.push((format!("{name}_len"), ValueType::I32));
            }
            Meaning::Word => flat.push((name, ValueType::I32)),
            Meaning::Other => {
                return Err(format!("{}: a type the table has no word for", param.name).into());
            }
        }
    }
    // Leaked so that it compares with the table's `&'static str`; a test process is short.
    Ok(flat
        .into_iter()
        .map(|(name, ty)| (&*name.leak(), ty))
        .collect())
}

/// The core result: the value when it fits beside the codes, 64 bits wide when there is one.
fn result(resolve: &Resolve, function: &Function) -> Result<ValueType, Box<dyn Error>> {
    let Some(Type::Id(id)) = function.result else {
        return Err("no result type".into());
    };
    let TypeDefKind::Result(result) = &resolve.types[id].kind else {
        return Err("not a result".into());
    };
    let Some(Type::Id(error)) = result.err else {
        return Err("no error type".into());
    };
    assert_eq!(alias(resolve, error), Some("abi-error"));
    Ok(if result.ok.is_some() {
        ValueType::I64
    } else {
        ValueType::I32
    })
}

enum Meaning {
    Kernel,
    Halves,
    Region,
    Word,
    Other,
}

fn meaning(resolve: &Resolve, ty: Type) -> Meaning {
    match ty {
        Type::String => Meaning::Region,
        Type::U32 => Meaning::Word,
        Type::U64 => Meaning::Halves,
        Type::Id(id) if alias(resolve, id) == Some("kernel-id") => Meaning::Kernel,
        Type::Id(id) => match &resolve.types[id].kind {
            TypeDefKind::List(Type::U8) => Meaning::Region,
            TypeDefKind::Type(inner) => meaning(resolve, *inner),
            _ => Meaning::Other,
        },
        _ => Meaning::Other,
    }
}

fn alias(resolve: &Resolve, id: wit_parser::TypeId) -> Option<&str> {
    resolve.types[id].name.as_deref()
}
