//! What a host must know of a kernel that another assembler than ours will take: its parameters, and through which of them it writes.

mod flow;
mod instruction;
mod walk;

use crate::ast::{Function, Item, Module as Ast, Param as Formal, Stmt, VarSpace};
use crate::error::PtxError;
use crate::module::Param;
use crate::parser;
use crate::verify::{Checked, Layout, SemanticError, Unsupported, fail};

/// A kernel's parameters as its source declares them, whether or not this software GPU can run it.
///
/// # Examples
///
/// ```
/// use soft_gpu::Signature;
///
/// let ptx = br#"
///     .version 8.0
///     .target sm_90
///     .address_size 64
///     .visible .entry copy(.param .u64 to, .param .u64 from, .param .u64 texture)
///     {
///         .reg .b32 %r<5>;
///         .reg .b64 %rd<4>;
///         ld.param.u64 %rd1, [to];
///         ld.param.u64 %rd2, [from];
///         ld.param.u64 %rd3, [texture];
///         ld.global.u32 %r1, [%rd2];
///         tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd3, {%r1}];
///         st.global.u32 [%rd1], %r1;
///         ret;
///     }
/// "#;
/// let copy = Signature::of(ptx, "copy")?.ok_or("no such kernel")?;
/// assert_eq!(copy.params()[1].offset_bytes, 8);
/// assert_eq!(copy.written(), [true, false, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    params: Vec<Param>,
    param_bytes: u32,
    written: Vec<bool>,
}

impl Signature {
    /// The signature of kernel `entry` in a PTX source; `None` where the source defines no kernel of this name.
    ///
    /// Bodies are not verified, and instructions that the software GPU does not know are passed over: a source that has a signature is
    /// not for that good PTX.
    ///
    /// # Errors
    ///
    /// Where the source does not parse, or the kernel's parameters have no layout: the first thing wrong, with its place.
    pub fn of(source: &[u8], entry: &str) -> Result<Option<Self>, PtxError> {
        let ast = parser::parse_around_unknowns(source)?;
        let mut kernels = ast.items.iter().filter_map(|item| match item {
            Item::Function(function) if function.entry && function.name.text == entry => {
                Some(&**function)
            }
            _ => None,
        });
        let Some(kernel) = kernels.find(|kernel| kernel.body.is_some()) else {
            return Ok(None);
        };
        let (params, param_bytes) =
            laid_out(&ast, kernel).map_err(|failure| failure.located(source))?;
        let written = walk::written(&ast, kernel, &params);
        Ok(Some(Self {
            params,
            param_bytes,
            written,
        }))
    }

    /// The kernel's parameters, in order, laid out as [`Entry::params`](crate::Entry::params) has them.
    #[must_use]
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Bytes of the parameter buffer that a launch takes.
    #[must_use]
    pub fn param_bytes(&self) -> u32 {
        self.param_bytes
    }

    /// For each parameter whether the kernel may write to memory at an address that comes from it.
    ///
    /// Addresses are followed through registers, calls and arithmetic, in whatever order statements are executed. Where one may come from memory, from a
    /// constant, or out of what is not understood, every parameter may be meant. So a `true` may be wrong; a `false` is right for all kernels that stay within
    /// the memory their parameters point to, and that do not write addresses to memory in pieces below 8 bytes, or branch for each of their bits, to
    /// put them together again as offsets of others.
    ///
    /// Where the memory of two parameters overlaps, what is written through one is written for both.
    #[must_use]
    pub fn written(&self) -> &[bool] {
        &self.written
    }
}

fn laid_out(ast: &Ast<'_>, kernel: &Function<'_>) -> Checked<(Vec<Param>, u32)> {
    let stmts = ast.body(kernel);
    let declares =
        |stmt: &Stmt<'_>| matches!(stmt, Stmt::Variable(it) if it.space == VarSpace::Param);
    if ast.version < (1, 4) && stmts.iter().any(declares) {
        // The verifier's reason: they may be the kernel's parameters.
        let what = ".version 1.0 to 1.3".to_owned();
        return fail(ast.version_pos, Unsupported::Declaration(what));
    }
    let mut layout = Layout::default();
    let params = kernel.params.iter().map(|param| {
        if param.dims.contains(&None) {
            return fail(
                param.name.pos,
                SemanticError::InvalidDeclaration {
                    name: param.name.text.to_owned(),
                    reason: "a kernel's parameter needs a size",
                },
            );
        }
        if is_handle(param) {
            layout.place_handle(param)
        } else {
            layout.place(param)
        }
    });
    let params = params.collect::<Checked<_>>()?;
    Ok((params, layout.bytes()))
}

/// Whether a parameter is a texture, a sampler or a surface.
fn is_handle(param: &Formal<'_>) -> bool {
    matches!(param.ty.text, "texref" | "samplerref" | "surfref") && param.dims.is_empty()
}
